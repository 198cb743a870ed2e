"""How objects are held in memory: without what nobody reads, and packed."""

from quarterdeck.runtime.packing import Packer
from quarterdeck.runtime.snapshot import Metadata, Snapshot
from quarterdeck.runtime.trim import Trim, keep_all

FREE_BYTES = 512 * 1024
"""A kind that takes less than this is not packed: there would be little to win."""


class Keep:
    """What the reflector and the cache of one kind share."""

    __slots__ = ("_pack", "_trim")

    def __init__(self, trim: Trim = keep_all) -> None:
        self._trim = trim
        self._pack = Packer().pack

    def passing(self, raw: bytes, metadata: Metadata) -> Snapshot:
        """A state on its way to the handlers, who may read it at once."""
        return Snapshot.of(self._trim(raw, metadata), metadata)

    def stored(self, snapshot: Snapshot, held: int) -> Snapshot:
        """The same state as it is kept beside `held` bytes of others."""
        return self._pack(snapshot) if held > FREE_BYTES else snapshot
