"""A TPM in software, with an endorsement certificate, driven by tpm2-tools: what a machine does."""

import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quarterdeck.testing import programs

EK_HANDLE = "0x81010001"
ECC_EK_HANDLE = "0x81010002"
EK_CERTIFICATE = "0x01c00002"
PCRS = (0, 1, 2, 3, 4, 7)
_LOCAL_CA = """statedir = {0}
signingkey = {0}/signkey.pem
issuercert = {0}/issuercert.pem
certserial = {0}/certserial
"""
_SETUP = """create_certs_tool= /usr/bin/swtpm_localca
create_certs_tool_config = {0}/swtpm-localca.conf
create_certs_tool_options = {0}/swtpm-localca.options
active_pcr_banks = sha256
"""


class SoftwareTpm:
    """A running TPM; every method is a command of the machine it belongs to."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.tcti = f"swtpm:host=127.0.0.1,port={port}"
        self._environment = os.environ | {"TPM2TOOLS_TCTI": self.tcti}
        self._session = folder / "session.ctx"

    def run(self, *command: str) -> None:
        """Run a tool in the folder of this TPM."""
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.decode()}"

    def read(self, name: str) -> bytes:
        """A file that a tool wrote."""
        return (self.folder / name).read_bytes()

    def endorse(self) -> tuple[bytes, bytes]:
        """The endorsement key as TPM2B_PUBLIC, and its certificate in DER."""
        self.run("tpm2_readpublic", "-c", EK_HANDLE, "-f", "tss", "-o", "ek.pub")
        self.run("tpm2_nvread", EK_CERTIFICATE, "-o", "ek.der")
        return self.read("ek.pub"), self.read("ek.der")

    def create_ecc_endorsement_key(self) -> bytes:
        """A second endorsement key, of elliptic curves, as TPM2B_PUBLIC; it has no certificate."""
        self.run("tpm2_createek", "-G", "ecc", "-c", ECC_EK_HANDLE, "-u", "ek-ecc.tss", "-f", "tss")
        self._flush()
        return self.read("ek-ecc.tss")

    def create_attestation_key(self, name: str = "ak", *, algorithm: str = "rsa") -> bytes:
        """A new attestation key as TPM2B_PUBLIC."""
        scheme = "rsassa" if algorithm == "rsa" else "ecdsa"
        self.run(
            *("tpm2_createak", "-C", EK_HANDLE, "-c", f"{name}.ctx", "-G", algorithm),
            *("-g", "sha256", "-s", scheme, "-u", f"{name}.pub", "-f", "tss"),
        )
        self._flush()
        return self.read(f"{name}.pub")

    def activate(
        self, credential: bytes, name: str = "ak", *, endorsement: str = EK_HANDLE
    ) -> bytes:
        """Open a credential; fails for one that is for another key."""
        (self.folder / "credential.blob").write_bytes(credential)
        self.run("tpm2_startauthsession", "--policy-session", "-S", "session.ctx")
        try:
            self.run("tpm2_policysecret", "-S", "session.ctx", "-c", "e")
            self.run(
                *("tpm2_activatecredential", "-c", f"{name}.ctx", "-C", endorsement),
                *("-i", "credential.blob", "-o", "secret.bin", "-P", "session:session.ctx"),
            )
        finally:
            self.run("tpm2_flushcontext", "session.ctx")
            self._flush()
        return self.read("secret.bin")

    def quote(
        self, nonce: bytes, name: str = "ak", indexes: Sequence[int] = PCRS
    ) -> tuple[bytes, bytes, dict[int, bytes]]:
        """A quote, its signature, and the values of the PCRs."""
        selection = "sha256:" + ",".join(map(str, indexes))
        self.run(
            *("tpm2_quote", "-c", f"{name}.ctx", "-l", selection, "-q", nonce.hex()),
            *("-m", "quote.msg", "-s", "quote.sig", "-g", "sha256"),
        )
        self._flush()
        self.run("tpm2_pcrread", selection, "-o", "pcrs.bin")
        values = self.read("pcrs.bin")
        pcrs = {index: values[32 * at : 32 * at + 32] for at, index in enumerate(indexes)}
        return self.read("quote.msg"), self.read("quote.sig"), pcrs

    def _flush(self) -> None:
        """A bare TPM has three slots for keys, and no resource manager to free them."""
        self.run("tpm2_flushcontext", "-t")


@contextmanager
def software_tpm(folder: Path) -> Iterator[SoftwareTpm]:
    """Manufacture a TPM and run it; `folder/ca` has the certificates of its maker."""
    for tool in ("swtpm", "swtpm_setup", "tpm2_createak"):
        programs.require(tool)
    authority, state = folder / "ca", folder / "state"
    authority.mkdir(parents=True)
    state.mkdir()
    (authority / "swtpm-localca.conf").write_text(_LOCAL_CA.format(authority))
    (authority / "swtpm-localca.options").write_text("--platform-manufacturer test\n")
    (authority / "swtpm_setup.conf").write_text(_SETUP.format(authority))
    subprocess.run(
        [
            *("swtpm_setup", "--tpm2", "--tpmstate", str(state), "--createek"),
            *("--create-ek-cert", "--lock-nvram", "--overwrite"),
            *("--config", str(authority / "swtpm_setup.conf")),
        ],
        check=True,
        capture_output=True,
    )
    port = _find_two_ports()
    control = port + 1  # where tpm2-tools expect it
    command = [
        *("swtpm", "socket", "--tpm2", "--tpmstate", f"dir={state}"),
        *("--server", f"type=tcp,port={port},bindaddr=127.0.0.1"),
        *("--ctrl", f"type=tcp,port={control},bindaddr=127.0.0.1"),
        *("--flags", "not-need-init,startup-clear"),
    ]
    with programs.run_program(command, port=control, folder=folder):
        yield SoftwareTpm(folder, port)


def _find_two_ports() -> int:
    """The first of two free ports in a row."""
    while True:
        port = programs.find_free_port()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
