"""The checksum of a row: SQLite checks the shape of its pages, not the bytes of a value."""

from typing import Final
from zlib import crc32

MISMATCH: Final = -1
"""Equal to no checksum; the result for a column of the wrong type."""


def compute_checksum(
    revision: int, identity: tuple[str, str, str], created: int, replaced: int, value: object
) -> int:
    """The checksum of all columns of a row."""
    if type(value) is not bytes:
        return MISMATCH
    head = f"{revision}\0{identity[0]}\0{identity[1]}\0{identity[2]}\0{created}\0{replaced}\0"
    return crc32(value, crc32(head.encode("utf-8", "surrogatepass")))
