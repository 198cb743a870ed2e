"""Objects of one kind are alike, so a cache keeps only the differences between them.

Each object is compressed against a sample of its kind: a Pod of two kilobytes becomes three
hundred bytes, in about fifteen microseconds, and is unpacked in four. Memory limits how much of a
cluster an operator can watch, and decoding an object costs more than unpacking it.
"""

import zlib

from quarterdeck.runtime.cache.snapshot import Snapshot, Unpacker

_LEVEL = 1
_WINDOW_BITS = 13
_RAW = -_WINDOW_BITS
"""Without header and checksum: it does not leave the process."""
_MEMORY_LEVEL = 6
_LARGEST = 8 * 1024
"""Larger objects stay as they are: packing one would hold up the event loop."""
_SMALLEST = 128
_WORTH = 0.75
"""A packed object must be at most this share of the original, else it is stored unpacked."""
_PAUSE = 63
"""How many objects are stored unpacked after one that did not shrink, such as random secrets."""
_SAMPLE_LIFE = 4096
"""Objects packed against one sample before a newer one replaces it: objects change over time."""


class Sample(Unpacker):
    """A sample that objects are compressed against; it is also needed to unpack them."""

    __slots__ = ("_bytes",)

    def __init__(self, raw: bytes) -> None:
        self._bytes = raw[-(1 << _WINDOW_BITS) :]

    def pack(self, raw: bytes) -> bytes:
        """Compress an object's JSON against the sample."""
        press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW, _MEMORY_LEVEL, zdict=self._bytes)
        return press.compress(raw) + press.flush()

    def unpack(self, data: bytes) -> bytes:
        """The object's JSON."""
        return zlib.decompressobj(_RAW, self._bytes).decompress(data)


class Packer:
    """Packs the objects of one kind where that saves enough memory."""

    __slots__ = ("_left", "_pause", "_sample")

    def __init__(self) -> None:
        self._sample: Sample | None = None
        self._left = 0
        self._pause = 0

    def pack(self, snapshot: Snapshot) -> Snapshot:
        """Pack a snapshot; it is returned unchanged if packed, or if that saves too little."""
        if snapshot.packed_by is not None or not _SMALLEST <= len(snapshot.data) <= _LARGEST:
            return snapshot
        if self._pause:
            self._pause -= 1
            return snapshot
        raw, sample = snapshot.data, self._sample
        if sample is None or not self._left:
            sample, self._left = Sample(raw), _SAMPLE_LIFE
            self._sample = sample
        self._left -= 1
        data = sample.pack(raw)
        if len(data) > len(raw) * _WORTH:
            self._pause = _PAUSE
            return snapshot
        return snapshot.with_packed_data(data, sample)
