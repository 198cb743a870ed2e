"""The interface by which a workqueue updates its metrics."""

from typing import Protocol


class QueueObserver(Protocol):
    """Receives the changes that the metrics of client-go's workqueue count."""

    def on_add(self, priority: int) -> None:
        """A key became due (the depth rises)."""
        ...

    def on_get(self, priority: int, waited_s: float) -> None:
        """A key was handed out (the depth falls)."""
        ...

    def on_priority_change(self, before: int, after: int) -> None:
        """A waiting key changed its priority."""
        ...

    def on_done(self, worked_s: float) -> None:
        """A worker is done with a key."""
        ...

    def on_retry(self) -> None:
        """A key was added with a delay."""
        ...
