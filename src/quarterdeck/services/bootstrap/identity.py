"""SPIFFE ids of machines: `spiffe://<trust domain>/vm/<namespace>/<claim>/<uid>`."""

import functools
from datetime import datetime

from cryptography import x509

from quarterdeck.kit import http
from quarterdeck.services.bootstrap.authority import read_spiffe_id
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

TRUST_DOMAIN = "hyperfleet.io"
_PARTS = 4
_KEPT = 4096


def build_spiffe_id(trust_domain: str, claim: Claim) -> str:
    """Build the SPIFFE id of a machine; the UID keeps it unique when names are reused."""
    return f"spiffe://{trust_domain}/vm/{claim.namespace}/{claim.name}/{claim.uid}"


def parse_spiffe_id(trust_domain: str, text: str) -> Claim | None:
    """The claim that a SPIFFE id names; None if it names none of our machines."""
    prefix = f"spiffe://{trust_domain}/"
    parts = text.removeprefix(prefix).split("/")
    if not text.startswith(prefix) or len(parts) != _PARTS or parts[0] != "vm" or not all(parts):
        return None
    return Claim(namespace=parts[1], name=parts[2], uid=parts[3])


def authenticate_machine(peer: http.Peer, trust_domain: str, *, now: datetime) -> Claim:
    """The claim in the client certificate, which TLS has verified.

    Its expiry is checked again: a connection may stay open longer than the certificate is valid.

    Raises:
        Refused: if the certificate is absent, has expired, or names no machine.
    """
    if peer.certificate is None:
        raise Refused(RefusalReason.WRONG_IDENTITY, "no client certificate")
    not_after, text = _read_certificate(peer.certificate)
    if now >= not_after:
        raise Refused(RefusalReason.WRONG_IDENTITY, "the client certificate has expired")
    claim = parse_spiffe_id(trust_domain, text)
    if claim is None:
        raise Refused(
            RefusalReason.WRONG_IDENTITY, f"the client certificate names {text or 'no machine'}"
        )
    return claim


@functools.lru_cache(maxsize=_KEPT)
def _read_certificate(encoded: bytes) -> tuple[datetime, str]:
    """Expiry and SPIFFE id of a certificate; cached, because every heartbeat has the same."""
    parsed = x509.load_der_x509_certificate(encoded)
    return parsed.not_valid_after_utc, read_spiffe_id(encoded)
