"""The values storage deals in: keys, entries and events. All immutable.

There are as many of them as objects in the store. They hold no cycles, so they are hidden from the
garbage collector (`gc=False`): at 100,000 objects each of its full rounds would stop the loop for
tens of milliseconds.
"""

from collections.abc import Callable
from typing import Final

import msgspec

__all__ = ["ANY", "Derive", "Encode", "Entry", "StoreEvent", "StoreKey"]

ANY: Final = None
"""As `expected`: accepts any revision of the key."""

Encode = Callable[[int], bytes]
"""Makes the stored bytes once the revision of the write is known."""

Derive = Callable[[str, bytes], object]
"""Makes the facts of an entry from its resource and stored bytes."""


class StoreKey(msgspec.Struct, frozen=True, order=True, gc=False):
    """The key of an object in the store; keys sort in the order of list responses."""

    resource: str
    """Plural and group, as in `pods` or `widgets.stable.example.com`."""
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.resource, self.namespace, self.name) if part)


class _Underived:
    """The placeholder of facts until they are first read."""

    __slots__ = ("derive",)

    def __init__(self, derive: Derive) -> None:
        self.derive = derive


class Entry(msgspec.Struct, gc=False, eq=False):
    """One stored object at one revision. Treat as frozen: it is shared by all readers."""

    key: StoreKey
    revision: int
    """The revision of the last write."""
    created_revision: int
    value: bytes
    """The stored JSON, resource version included."""
    _facts: object = None

    @property
    def facts(self) -> object:
        """Facts about the value, derived on first use, so that it is not decoded again."""
        facts = self._facts
        if type(facts) is _Underived:
            facts = self._facts = facts.derive(self.key.resource, self.value)
        return facts

    def __repr__(self) -> str:
        return f"Entry({self.key}, revision={self.revision}, {len(self.value)} bytes)"


class StoreEvent(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One committed write: what a key held before and after."""

    revision: int
    key: StoreKey
    before: Entry | None
    """The entry that was replaced or deleted; None for a creation."""
    after: Entry | None
    """The entry as it is now; None for a deletion."""
    tombstone: bytes | None = None
    """For a deletion, the object as of then, with the revision of the deletion."""

    @property
    def size(self) -> int:
        """How many bytes of values this event alone keeps alive."""
        return len(self.after.value) if self.after is not None else len(self.tombstone or b"")

    def __repr__(self) -> str:
        verb = "delete" if self.after is None else "update" if self.before else "create"
        return f"StoreEvent({self.revision}, {verb} {self.key})"


def defer_facts(derive: Derive | None) -> object:
    """A placeholder for the facts of an `Entry`, which are then derived on first use."""
    return None if derive is None else _Underived(derive)
