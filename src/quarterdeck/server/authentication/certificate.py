"""The subject of a client certificate, read from its DER bytes.

TLS has verified the certificate already; only the names in it are needed. Reading these few tags
here means that a server starts without loading a cryptography library.
"""

import functools
from datetime import UTC, datetime
from typing import NamedTuple

_COMMON_NAME = bytes.fromhex("550403")
_ORGANIZATION = bytes.fromhex("55040a")
_SEQUENCE = 0x30
_EXPLICIT_VERSION = 0xA0
_UTC_TIME = 0x17


class CertificateError(ValueError):
    """Raised when bytes are not a certificate."""


class Validity(NamedTuple):
    """The period in which a certificate is valid."""

    begins: datetime
    ends: datetime


class Subject(NamedTuple):
    """The names in the subject of a certificate."""

    common_name: str
    """The user's name."""
    organizations: tuple[str, ...]
    """The user's groups."""


@functools.lru_cache(maxsize=1024)
def parse_subject(der: bytes) -> Subject:
    """Read the subject of a certificate.

    Raises:
        CertificateError: if the bytes have another shape.
    """
    try:
        return _parse_subject(der)
    except (IndexError, UnicodeDecodeError) as error:
        raise CertificateError("cannot parse the client certificate") from error


def parse_validity(der: bytes) -> Validity:
    """Read the validity period of a certificate.

    Raises:
        CertificateError: if the bytes have another shape.
    """
    try:
        times = _find_member(der, ("serial number", "signature", "issuer"))
        kind, begins, at = _read_element(times, 0)
        other, ends, _ = _read_element(times, at)
        return Validity(_parse_time(kind, begins), _parse_time(other, ends))
    except (IndexError, ValueError) as error:
        raise CertificateError("cannot parse the certificate") from error


def _parse_time(tag: int, text: bytes) -> datetime:
    """Read a UTCTime, whose year has two digits, or a GeneralizedTime."""
    digits = text.decode().removesuffix("Z")
    if tag == _UTC_TIME:
        digits = ("19" if digits[:2] >= "50" else "20") + digits
    month, day, hour, minute, second = (int(digits[at : at + 2]) for at in range(4, 14, 2))
    return datetime(int(digits[:4]), month, day, hour, minute, second, tzinfo=UTC)


def _parse_subject(der: bytes) -> Subject:
    return _parse_names(_find_member(der, ("serial number", "signature", "issuer", "validity")))


def _find_member(der: bytes, skipped: tuple[str, ...]) -> bytes:
    """The body of the member of a certificate that follows those to skip."""
    tag, body, _ = _read_element(der, 0)
    to_be_signed = _read_element(body, 0)[1]
    if tag != _SEQUENCE:
        raise CertificateError("cannot parse the client certificate: not a DER sequence")
    at = 0
    if to_be_signed[0] == _EXPLICIT_VERSION:
        at = _read_element(to_be_signed, at)[2]
    for _ in skipped:
        at = _read_element(to_be_signed, at)[2]
    return _read_element(to_be_signed, at)[1]


def _parse_names(sequence: bytes) -> Subject:
    common_name = ""
    organizations: list[str] = []
    at = 0
    while at < len(sequence):
        _, relative, at = _read_element(sequence, at)
        inner = 0
        while inner < len(relative):
            _, attribute, inner = _read_element(relative, inner)
            _, oid, after = _read_element(attribute, 0)
            text = _read_element(attribute, after)[1].decode()
            if oid == _COMMON_NAME:
                common_name = text
            elif oid == _ORGANIZATION:
                organizations.append(text)
    return Subject(common_name, tuple(organizations))


def _read_element(data: bytes, at: int) -> tuple[int, bytes, int]:
    """Read the tag and body of the element at an offset, and the offset after it."""
    tag, length = data[at], data[at + 1]
    at += 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(data[at : at + size], "big")
        at += size
    end = at + length
    if end > len(data):
        raise CertificateError("cannot parse the client certificate: unexpected end of data")
    return tag, data[at:end], end
