"""How objects are kept in memory: without unused fields, and packed in large caches."""

from collections.abc import Iterator
from itertools import islice

from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.packer import Packer
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot
from quarterdeck.runtime.cache.transform import Transform, keep_all

PACK_ABOVE_BYTES = 2 * 1024 * 1024
"""A kind that takes less than this is not packed: it would save little memory."""
_PACKED_PER_PUT = 2
_MAX_WRITTEN = 64
_MAX_WRITTEN_BYTES = 16 * 1024


class PackedStore(dict[Key, Snapshot]):
    """Snapshots by key; packed as soon as they take more than `PACK_ABOVE_BYTES`.

    Objects stored before that moment are packed a few at a time, with each later `put`.
    """

    __slots__ = ("_earlier", "_pack", "size_bytes")

    def __init__(self, packer: Packer) -> None:
        super().__init__()
        self.size_bytes = 0
        self._pack = packer.pack
        self._earlier: Iterator[Key] | None = None

    def put(self, snapshot: Snapshot) -> Snapshot:
        """Replace the stored state of an object; returns the snapshot as it is stored."""
        if self._earlier is not None:
            snapshot = self._pack(snapshot)
            self._pack_earlier(self._earlier)
        elif self.size_bytes > PACK_ABOVE_BYTES:
            self._earlier = iter(tuple(self))
        old = self.get(snapshot.key)
        self.size_bytes += len(snapshot.data) - (len(old.data) if old is not None else 0)
        self[snapshot.key] = snapshot
        return snapshot

    def remove(self, key: Key) -> bool:
        """Remove an object; False if it was absent."""
        old = self.pop(key, None)
        if old is None:
            return False
        self.size_bytes -= len(old.data)
        return True

    def _pack_earlier(self, earlier: Iterator[Key]) -> None:
        """Pack a few of the objects stored before packing began; few, as it blocks the loop."""
        for key in islice(earlier, _PACKED_PER_PUT):
            if (snapshot := self.get(key)) is not None:
                packed = self[key] = self._pack(snapshot)
                self.size_bytes += len(packed.data) - len(snapshot.data)


class RetentionPolicy:
    """Which part of an object is kept, and how; shared by the reflector and the cache of a kind."""

    __slots__ = ("_packer", "_transform", "_written")

    def __init__(self, transform: Transform = keep_all) -> None:
        self._transform = transform
        self._packer = Packer()
        self._written: dict[str, tuple[bytes, Snapshot]] = {}  # by resourceVersion

    def make_snapshot(self, raw: bytes, metadata: Metadata) -> Snapshot:
        """Transform a received object; it is not packed yet, because handlers read it at once.

        The event of our own write mostly has the same bytes as the answer to it: then the snapshot
        of the answer is returned.
        """
        written = self._written.pop(metadata.resource_version, None) if self._written else None
        if written is not None and written[0] == raw:
            return written[1]
        return Snapshot.of(self._transform(raw, metadata), metadata)

    def make_written(self, raw: bytes, metadata: Metadata) -> Snapshot:
        """Transform the answer to a write; the snapshot is kept for the event of the write."""
        snapshot = Snapshot.of(self._transform(raw, metadata), metadata)
        if len(raw) <= _MAX_WRITTEN_BYTES:
            if len(self._written) >= _MAX_WRITTEN:  # events of other scopes never come
                del self._written[next(iter(self._written))]
            self._written[metadata.resource_version] = raw.rstrip(b"\n"), snapshot
        return snapshot

    def make_store(self) -> PackedStore:
        """An empty store for snapshots of this policy."""
        return PackedStore(self._packer)
