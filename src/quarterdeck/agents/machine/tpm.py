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
"""Of an attestation key. Without noda, machines that lose power are locked out of their TPM."""


class Family(NamedTuple):
    """A kind of endorsement key, where makers store it, and its attestation keys."""

    name: str
    handle: str
    certificate: str
    algorithm: str


RSA = Family("rsa", "0x81010001", "0x01c00002", "rsa2048:rsassa-sha256:null")
ECC = Family("ecc", "0x81010016", "0x01c00016", "ecc256:ecdsa-sha256:null")


class Tpm:
    """One TPM; files of the tools lie in a folder that goes with it."""

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
        """The first request of an attestation."""
        request = {"claimUid": claim_uid, "csr": csr, "ekPublic": _encode(self._read_ek()[2:])}
        try:
            self._run("tpm2_nvread", self._family.certificate, "-o", "ek.der")
            request["ekCertificate"] = _encode(self._read("ek.der"))
        except ProgramError:
            pass  # many TPMs have none; the service knows whether it needs one
        self._create_attestation_key()
        request["akPublic"] = _encode(self._read("ak.pub"))
        return request

    def answer(self, challenge: dict[str, Any], csr: str) -> dict[str, Any]:
        """The second request: the opened secret, and a quote bound to the certificate request."""
        blob, secret = (
            _sized(base64.b64decode(challenge[name]))
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
        """The endorsement key: the one its maker has stored, or made from the usual template.

        A TPM that has no RSA key is asked for one on an elliptic curve.
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
        """Without a resource manager a TPM has three slots for keys."""
        self._run("tpm2_flushcontext", "-t")

    def _run(self, *command: str) -> None:
        environment = {"TPM2TOOLS_TCTI": self._tcti} if self._tcti else {}
        run(*command, folder=self._path, environment=environment)

    def _read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data
