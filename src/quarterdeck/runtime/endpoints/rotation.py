"""Rotation of generated certificates: the current and the next, shared in a Secret. Pure.

A certificate is published before it is served: `authority` has the current and the next one, and an
hour later the next one becomes the current one. Replicas that have not reloaded yet serve the
previous one, which is still in `authority`.
"""

import base64
import binascii
import ipaddress
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quarterdeck.kit.certificate import CertificateRequest, issue_certificate, load_certificate

if TYPE_CHECKING:
    from quarterdeck.kit.certificate import Certificate

LIFE = timedelta(days=365)
RENEW_AFTER = LIFE * 2 / 3
OVERLAP = timedelta(hours=1)
"""How long the next certificate is published before it is served."""
_COMMON_NAME = "quarterdeck"


class Identity(NamedTuple):
    """A certificate and its key, both in PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Identity(***)"


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """Certificates of one service."""

    current: Identity
    next: Identity | None = None
    authority: bytes
    """What clients must trust, in PEM."""


def plan_rotation(
    stored: Rotation | None, *, now: datetime, hosts: Sequence[str]
) -> Rotation | None:
    """The rotation to store now; None if the stored one needs no change."""
    if stored is None:
        return _begin(now, hosts)
    current = load_certificate(*stored.current)
    if not _covers(current, hosts) or now >= current.certificate.not_valid_after_utc:
        return _begin(now, hosts)
    if now < _get_issue_time(current) + RENEW_AFTER:
        return None
    before = stored.current.certificate
    if stored.next is None:
        following = _issue(now, hosts)
        authority = before + following.certificate
        return Rotation(current=stored.current, next=following, authority=authority)
    if now < _get_issue_time(load_certificate(*stored.next)) + OVERLAP:
        return None
    return Rotation(current=stored.next, authority=before + stored.next.certificate)


def encode_rotation(rotation: Rotation) -> dict[str, str]:
    """The data of a Secret of type kubernetes.io/tls."""
    parts = {
        "tls.crt": rotation.current.certificate,
        "tls.key": rotation.current.key,
        "ca.crt": rotation.authority,
    }
    if rotation.next is not None:
        parts |= {"next.crt": rotation.next.certificate, "next.key": rotation.next.key}
    return {name: base64.b64encode(value).decode() for name, value in parts.items()}


def decode_rotation(data: Mapping[str, Any]) -> Rotation:
    """Read the data of a Secret.

    Raises:
        ValueError: if a certificate or its key is missing, or they do not belong together.
    """
    current = _read_identity(data, "tls")
    following = _read_identity(data, "next") if "next.crt" in data else None
    return Rotation(
        current=current,
        next=following,
        authority=_read_part(data, "ca.crt") if "ca.crt" in data else current.certificate,
    )


def _read_identity(data: Mapping[str, Any], name: str) -> Identity:
    found = Identity(_read_part(data, f"{name}.crt"), _read_part(data, f"{name}.key"))
    try:
        loaded = load_certificate(*found)
    except (ValueError, TypeError):
        text = f"{name}.crt and {name}.key are not a certificate and an elliptic-curve key in PEM"
        raise ValueError(text) from None
    if loaded.certificate.public_key() != loaded.key.public_key():
        raise ValueError(f"{name}.key does not match {name}.crt")
    return found


def _read_part(data: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(str(data[name]), validate=True)
    except KeyError:
        raise ValueError(f"{name} is missing") from None
    except binascii.Error:
        raise ValueError(f"{name} is not base64") from None


def _begin(now: datetime, hosts: Sequence[str]) -> Rotation:
    made = _issue(now, hosts)
    return Rotation(current=made, authority=made.certificate)


def _issue(now: datetime, hosts: Sequence[str]) -> Identity:
    issued = issue_certificate(CertificateRequest(_COMMON_NAME, LIFE, tuple(hosts)), now=now)
    return Identity(issued.encode_certificate(), issued.encode_key())


def _get_issue_time(issued: "Certificate") -> datetime:
    return issued.certificate.not_valid_after_utc - LIFE


def _covers(issued: "Certificate", hosts: Sequence[str]) -> bool:
    from cryptography import x509

    try:
        names = issued.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return not hosts
    return {str(each.value) for each in names.value} >= {_normalize(each) for each in hosts}


def _normalize(host: str) -> str:
    """A host as a certificate names it: addresses have one form."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host
