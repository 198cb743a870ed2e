"""How objects are held in memory: without what nobody reads, and packed where they are many."""

from collections.abc import Iterator
from itertools import islice

from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.packer import Packer
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot
from quarterdeck.runtime.cache.transform import Trim, keep_all

FREE_BYTES = 2 * 1024 * 1024
"""A kind that takes less than this is not packed: there would be little to win."""
_AT_ONCE = 2


class Stock(dict[Key, Snapshot]):
    """Snapshots by key. Once they take much memory they are packed, earlier ones by and by."""

    __slots__ = ("_earlier", "_pack", "size_bytes")

    def __init__(self, packer: Packer) -> None:
        super().__init__()
        self.size_bytes = 0
        self._pack = packer.pack
        self._earlier: Iterator[Key] | None = None

    def put(self, snapshot: Snapshot) -> Snapshot:
        """Hold a state instead of the one before; returns it as it is kept."""
        if self._earlier is not None:
            snapshot = self._pack(snapshot)
            self._catch_up(self._earlier)
        elif self.size_bytes > FREE_BYTES:
            self._earlier = iter(tuple(self))
        self._set(snapshot)
        return snapshot

    def drop(self, key: Key) -> bool:
        """Let go of an object; False if there was none."""
        old = self.pop(key, None)
        if old is None:
            return False
        self.size_bytes -= len(old.data)
        return True

    def _catch_up(self, earlier: Iterator[Key]) -> None:
        """Pack some of those that came before there was a need: never many, we are in a hurry."""
        for key in islice(earlier, _AT_ONCE):
            if (snapshot := self.get(key)) is not None:
                self._set(self._pack(snapshot))

    def _set(self, snapshot: Snapshot) -> None:
        old = self.get(snapshot.key)
        self.size_bytes += len(snapshot.data) - (len(old.data) if old is not None else 0)
        self[snapshot.key] = snapshot


class Keep:
    """What the reflector and the cache of one kind share."""

    __slots__ = ("_packer", "_trim")

    def __init__(self, trim: Trim = keep_all) -> None:
        self._trim = trim
        self._packer = Packer()

    def passing(self, raw: bytes, metadata: Metadata) -> Snapshot:
        """A state on its way to the handlers, who may read it at once."""
        return Snapshot.of(self._trim(raw, metadata), metadata)

    def stock(self) -> Stock:
        """A place for such states."""
        return Stock(self._packer)
