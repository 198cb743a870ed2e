"""Every call that reached the simulator, for tests, demos and the count of calls per machine."""

from collections import Counter, deque
from typing import NamedTuple

from quarterdeck.operators.machines.machine import Owner

_KEPT = 10_000


class Entry(NamedTuple):
    """One call."""

    at: float
    operation: str
    vmid: int
    name: str
    node: str
    claim_uid: str
    operator_uid: str
    result: str
    """`ok`, or the code of the error."""


class Journal:
    """The last calls in order, and how many there were of each operation in all."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=_KEPT)
        self.counts: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        """Record a call."""
        self.entries.append(entry)
        self.counts[entry.operation] += 1

    def clear(self) -> None:
        """Clear the journal."""
        self.entries.clear()
        self.counts.clear()


class Destroyed(NamedTuple):
    """A VM that was deleted through the API, and the owner that the call named."""

    vmid: int
    name: str
    description: str
    tags: tuple[str, ...]
    owner: Owner
