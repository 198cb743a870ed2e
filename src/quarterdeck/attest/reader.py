"""Reads TPM structures: big-endian numbers and byte strings with a length in front."""

from quarterdeck.attest.errors import MalformedStructure


class Reader:
    """A position in bytes; every read that goes beyond them is an error."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._at = 0

    def read_bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._at + count
        if end > len(self._data):
            raise MalformedStructure(
                f"{self._name} is truncated: expected {count} bytes at offset {self._at},"
                f" found {len(self._data) - self._at}"
            )
        taken, self._at = self._data[self._at : end], end
        return taken

    def read_u8(self) -> int:
        """A number of one byte."""
        return self.read_bytes(1)[0]

    def read_u16(self) -> int:
        """A number of two bytes."""
        return int.from_bytes(self.read_bytes(2), "big")

    def read_u32(self) -> int:
        """A number of four bytes."""
        return int.from_bytes(self.read_bytes(4), "big")

    def read_u64(self) -> int:
        """A number of eight bytes."""
        return int.from_bytes(self.read_bytes(8), "big")

    def read_sized(self) -> bytes:
        """A byte string with its length in two bytes: a TPM2B structure."""
        return self.read_bytes(self.read_u16())

    def expect_end(self) -> None:
        """Refuse trailing bytes.

        Raises:
            MalformedStructure: if there are any.
        """
        if self._at != len(self._data):
            left = len(self._data) - self._at
            raise MalformedStructure(f"{self._name} has {left} unexpected bytes at its end")


def write_sized(data: bytes) -> bytes:
    """A byte string with its length in front."""
    return len(data).to_bytes(2, "big") + data
