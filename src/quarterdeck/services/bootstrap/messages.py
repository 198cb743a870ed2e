"""Bodies of requests and answers, with the names and encodings of the wire."""

from typing import Annotated, Any, Literal

import msgspec

Text = Annotated[str, msgspec.Meta(max_length=256)]
Encoded = Annotated[str, msgspec.Meta(max_length=32768)]


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Members in camel case."""


class ClaimName(_Message, frozen=True, kw_only=True):
    """The claim a token is for."""

    namespace: Text
    name: Text
    uid: Text


class TokenRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/join-tokens."""

    claim: ClaimName
    ttl_seconds: int = 3600
    selectors: Annotated[tuple[Text, ...], msgspec.Meta(max_length=32)] = ()
    bound_ip: Text = msgspec.field(name="boundIP", default="")
    bound_mac: Text = msgspec.field(name="boundMAC", default="")
    rotate: bool = False


class TokenAnswer(_Message, frozen=True, kw_only=True):
    """A new token; no other answer has it."""

    id: str
    token: str
    expires_at: str


class MachineFacts(_Message, frozen=True, kw_only=True):
    """The facts that a machine reports; they are not trusted."""

    hostname: Text = ""
    machine_id: Text = ""
    mac: Annotated[tuple[Text, ...], msgspec.Meta(max_length=32)] = ()
    agent_version: Text = ""


class JoinRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/attest/join-token."""

    token: Text
    csr: Encoded
    machine: MachineFacts = MachineFacts()


class ChallengeRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/attest/tpm/challenge; binary members are base64."""

    claim_uid: Text
    ek_public: Encoded
    """TPMT_PUBLIC."""
    ak_public: Encoded
    """TPM2B_PUBLIC."""
    csr: Encoded
    ek_certificate: Encoded = ""
    """DER."""
    token: Text = ""
    """A join token, for the method tpm+token."""
    machine: MachineFacts = MachineFacts()


class ChallengeAnswer(_Message, frozen=True, kw_only=True):
    """The challenge: what the TPM has to decrypt and to sign."""

    session_id: str
    credential_blob: str
    """Content of TPM2B_ID_OBJECT."""
    encrypted_secret: str
    """Content of TPM2B_ENCRYPTED_SECRET."""
    nonce: str
    """Quote SHA256(nonce || csr)."""
    pcr_selection: dict[str, tuple[int, ...]]
    expires_at: str


class VerifyRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/attest/tpm/verify; binary members are base64."""

    session_id: Text
    secret: Text
    quote: Encoded
    """TPMS_ATTEST."""
    signature: Encoded
    """TPMT_SIGNATURE."""
    pcrs: Annotated[dict[str, Text], msgspec.Meta(max_length=24)]
    """Values in hexadecimal digits, by index."""
    event_log: Encoded = ""


class MethodRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/attest/METHOD/challenge, for a method of another package."""

    claim_uid: Text
    csr: Encoded
    evidence: dict[str, Any] = {}
    """The evidence that the method needs before its challenge."""


class MethodAnswer(_Message, frozen=True, kw_only=True):
    """The challenge of such a method."""

    session_id: str
    challenge: dict[str, Any]
    expires_at: str


class EvidenceRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/attest/METHOD/verify, for a method of another package."""

    session_id: Text
    evidence: dict[str, Any] = {}


class RenewRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/credentials/renew."""

    csr: Encoded


class Credentials(_Message, frozen=True, kw_only=True):
    """The certificate of an attested machine, and its chain; it holds no secret."""

    spiffe_id: str
    certificate: str
    chain: tuple[str, ...]
    trust_bundle: str
    not_after: str
    renew_after: str
    selectors: tuple[str, ...] = ()
    workload: dict[str, str] = {}


class Job(_Message, frozen=True, kw_only=True):
    """The job of a runner."""

    id: Text = ""


class StatusRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/status."""

    phase: Literal["Bootstrapping", "Ready", "Busy", "Idle", "JobCompleted", "Failed"]
    message: Text = ""
    job: Job = Job()


class HeartbeatRequest(_Message, frozen=True, kw_only=True):
    """POST /v1/heartbeat."""

    uptime: float = 0.0
    load: float = 0.0
