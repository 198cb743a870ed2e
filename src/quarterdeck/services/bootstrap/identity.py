"""SPIFFE ids of machines: `spiffe://<trust domain>/vm/<namespace>/<claim>/<uid>`."""

import functools
from datetime import datetime

from cryptography import x509

from quarterdeck.kit import http
from quarterdeck.services.bootstrap.authority import read_spiffe_id
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.refusal import Refused, Why

TRUST_DOMAIN = "hyperfleet.io"
_PARTS = 4
_KEPT = 4096


def build_spiffe_id(trust_domain: str, claim: Claim) -> str:
    """The identity of a machine; the UID makes it unique for all time."""
    return f"spiffe://{trust_domain}/vm/{claim.namespace}/{claim.name}/{claim.uid}"


def parse_spiffe_id(trust_domain: str, text: str) -> Claim | None:
    """The claim of an identity; None if it is not that of a machine of ours."""
    prefix = f"spiffe://{trust_domain}/"
    parts = text.removeprefix(prefix).split("/")
    if not text.startswith(prefix) or len(parts) != _PARTS or parts[0] != "vm" or not all(parts):
        return None
    return Claim(namespace=parts[1], name=parts[2], uid=parts[3])


def authenticate_machine(peer: http.Peer, trust_domain: str, *, now: datetime) -> Claim:
    """Whose certificate TLS has verified; a kept connection may outlive it, so look again.

    Raises:
        Refused: if there is none, it has expired, or it names no machine.
    """
    if peer.certificate is None:
        raise Refused(Why.WRONG_IDENTITY, "no client certificate")
    not_after, text = _read_certificate(peer.certificate)
    if now >= not_after:
        raise Refused(Why.WRONG_IDENTITY, "the client certificate has expired")
    claim = parse_spiffe_id(trust_domain, text)
    if claim is None:
        raise Refused(Why.WRONG_IDENTITY, f"the client certificate names {text or 'no machine'}")
    return claim


@functools.lru_cache(maxsize=_KEPT)
def _read_certificate(encoded: bytes) -> tuple[datetime, str]:
    """When a certificate ends, and whose it is: the same at every heartbeat of a machine."""
    parsed = x509.load_der_x509_certificate(encoded)
    return parsed.not_valid_after_utc, read_spiffe_id(encoded)
