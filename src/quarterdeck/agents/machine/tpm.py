"""The TPM of the machine, by tpm2-tools: its keys, opening a challenge, quoting PCRs."""

import base64
import hashlib
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from quarterdeck.agents.machine.programs import ProgramError, run

_PCR_BYTES = 32
_USER_WITH_AUTH = 1 << 6
_ATTRIBUTES = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign|noda"
"""Attributes of an attestation key; `noda` avoids a TPM lockout after power losses."""


class Family(NamedTuple):
    """A type of endorsement key: where vendors store it, and its attestation keys' algorithm."""

    name: str
    handle: str
    certificate: str
    algorithm: str


RSA = Family("rsa", "0x81010001", "0x01c00002", "rsa2048:rsassa-sha256:null")
ECC = Family("ecc", "0x81010016", "0x01c00016", "ecc256:ecdsa-sha256:null")


class Tpm:
    """One TPM; files of the tools are in a temporary folder, which `close` removes."""

    def __init__(self, tcti: str = "", family: Family = RSA) -> None:
        self._tcti = tcti
        self._family = family
        self._folder = tempfile.TemporaryDirectory(prefix="hyperfleet-")
        self._path = Path(self._folder.name)
        self._endorsement = family.handle

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()

    def describe(self, claim_uid: str, csr: str) -> dict[str, Any]:
        """Build the first request of an attestation: keys, and the endorsement certificate."""
        request = {"claimUid": claim_uid, "csr": csr, "ekPublic": _encode(self._read_ek()[2:])}
        try:
            self._run("tpm2_nvread", self._family.certificate, "-o", "ek.der")
            request["ekCertificate"] = _encode(self._read("ek.der"))
        except ProgramError:
            pass  # many TPMs have none; the service decides whether it is required
        self._create_attestation_key()
        request["akPublic"] = _encode(self._read("ak.pub"))
        return request

    def answer_challenge(self, challenge: dict[str, Any], csr: str) -> dict[str, Any]:
        """Build the second request: the decrypted secret, and a quote bound to the CSR."""
        blob, secret = (
            _prefix_size(base64.b64decode(challenge[name]))
            for name in ("credentialBlob", "encryptedSecret")
        )
        head = (0xBADCC0DE).to_bytes(4, "big") + (1).to_bytes(4, "big")
        (self._path / "credential.blob").write_bytes(head + blob + secret)
        opened = self._activate()
        nonce = hashlib.sha256(base64.b64decode(challenge["nonce"]) + csr.encode()).digest()
        indexes = [int(each) for each in challenge["pcrSelection"]["sha256"]]
        selection = "sha256:" + ",".join(map(str, indexes))
        self._run(
            *("tpm2_quote", "-c", "ak.ctx", "-l", selection, "-q", nonce.hex()),
            *("-m", "quote.msg", "-s", "quote.sig", "-g", "sha256"),
        )
        self._flush()
        self._run("tpm2_pcrread", selection, "-o", "pcrs.bin")
        values = self._read("pcrs.bin")
        pcrs = {
            str(index): values[_PCR_BYTES * at : _PCR_BYTES * (at + 1)].hex()
            for at, index in enumerate(sorted(indexes))
        }
        return {
            "sessionId": challenge["sessionId"],
            "secret": _encode(opened),
            "quote": _encode(self._read("quote.msg")),
            "signature": _encode(self._read("quote.sig")),
            "pcrs": pcrs,
        }

    def _read_ek(self) -> bytes:
        """Read the endorsement key that the vendor has stored, or create it from the template.

        A stored RSA key is tried first, then a stored ECC key.
        """
        for family in (self._family, ECC):
            try:
                self._run("tpm2_readpublic", "-c", family.handle, "-f", "tss", "-o", "ek.pub")
            except ProgramError:
                continue
            self._family, self._endorsement = family, family.handle
            return self._read("ek.pub")
        self._endorsement, kind = "ek.ctx", self._family.name
        self._run("tpm2_createek", "-c", "ek.ctx", "-G", kind, "-u", "ek.pub", "-f", "tss")
        self._flush()
        return self._read("ek.pub")

    def _create_attestation_key(self) -> None:
        options = ("-G", self._family.algorithm, "-g", "sha256", "-a", _ATTRIBUTES)
        self._run_authorized(
            *("tpm2_create", "-C", self._endorsement, *options, "-u", "ak.pub", "-r", "ak.priv")
        )
        self._run_authorized(
            *("tpm2_load", "-C", self._endorsement, "-u", "ak.pub", "-r", "ak.priv"),
            *("-c", "ak.ctx"),
        )

    def _activate(self) -> bytes:
        self._run_authorized(
            *("tpm2_activatecredential", "-c", "ak.ctx", "-C", self._endorsement),
            *("-i", "credential.blob", "-o", "secret.bin"),
        )
        return self._read("secret.bin")

    def _run_authorized(self, *command: str) -> None:
        """Run a tool that uses the endorsement key, by its policy, or by its empty password."""
        if int.from_bytes(self._read("ek.pub")[6:10], "big") & _USER_WITH_AUTH:
            self._run(*command)
            self._flush()
            return
        self._run("tpm2_startauthsession", "--policy-session", "-S", "session.ctx")
        try:
            self._run("tpm2_policysecret", "-S", "session.ctx", "-c", "e")
            self._run(*command, "-P", "session:session.ctx")
        finally:
            self._run("tpm2_flushcontext", "session.ctx")
            self._flush()

    def _flush(self) -> None:
        """Flush transient keys: without a resource manager a TPM has only three slots for them."""
        self._run("tpm2_flushcontext", "-t")

    def _run(self, *command: str) -> None:
        environment = {"TPM2TOOLS_TCTI": self._tcti} if self._tcti else {}
        run(*command, folder=self._path, environment=environment)

    def _read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _prefix_size(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data
