"""The queue of the engine: most entries run in the next round, some wait for further writes.

A new pod is bound in the round after its creation and runs in the round after that. If its replica
set were planned after each of these, it would write three statuses instead of one, and so would the
controllers that watch the replica set.
"""

import msgspec

from quarterdeck.storage import StoreKey

WAIT_ROUNDS = 2
"""How many rounds an entry of `add_later` waits while other entries are queued."""

Item = tuple[int, StoreKey]
"""The number of a controller, and the key to plan."""


class Later(msgspec.Struct, frozen=True, gc=False):
    """A key whose plan may wait for the writes that are likely to follow."""

    key: StoreKey


class RoundQueue:
    """The queued entries, each once, in the order in which they were added."""

    def __init__(self) -> None:
        self.rounds = 0
        self._next: dict[Item, None] = {}
        self._waiting: dict[Item, int] = {}

    def __len__(self) -> int:
        return len(self._next) + len(self._waiting)

    def add(self, item: Item) -> None:
        """Queue an entry for the next round."""
        self._waiting.pop(item, None)
        self._next[item] = None

    def add_later(self, item: Item) -> None:
        """Queue an entry for one of the next rounds; at once if nothing else is queued."""
        if item not in self._next and item not in self._waiting:
            self._waiting[item] = self.rounds + 1 + WAIT_ROUNDS

    def take(self) -> list[Item]:
        """Begin a round, and return its entries."""
        self.rounds += 1
        items = list(self._next)
        self._next.clear()
        if not items:
            items = list(self._waiting)
            self._waiting.clear()
            return items
        for item, due in list(self._waiting.items()):
            if due > self.rounds:
                break  # those that came after it are due later still
            del self._waiting[item]
            items.append(item)
        return items
