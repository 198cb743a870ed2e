"""Finds PEM blocks in a text."""

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE = "CERTIFICATE"
_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"


class PemBlock(NamedTuple):
    """One PEM block."""

    type: str
    body: bytes
    """The text between its first and its last line."""
    text: bytes
    """The whole block."""


def iterate_blocks(text: bytes) -> Iterator[PemBlock]:
    """Yield the blocks of a text in linear time; stops at an incomplete block."""
    start = text.find(_BEGIN)
    while start >= 0:
        name_end = text.find(_DASHES, start + len(_BEGIN))
        name = text[start + len(_BEGIN) : name_end]
        end = text.find(b"\n" + _END + name + _DASHES, name_end)
        if name_end < 0 or end < 0:
            return
        body = text[name_end + len(_DASHES) : end]
        stop = end + 1 + len(_END) + len(name) + len(_DASHES)
        yield PemBlock(name.decode("utf-8", "replace"), body, text[start:stop] + b"\n")
        start = text.find(_BEGIN, stop)


def load_certificate(block: PemBlock) -> "x509.Certificate | None":
    """Return the certificate in a block; None if it cannot be parsed."""
    from cryptography import x509

    try:
        return x509.load_der_x509_certificate(base64.b64decode(block.body))
    except (ValueError, binascii.Error):
        return None
