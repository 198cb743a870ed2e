"""Repeats decisions whose writes failed, for writers that follow events and wait for nothing.

A write that fails causes no event, so that a writer that only reacts to events would stop there.
"""

from collections.abc import Callable
from typing import Final, Protocol

from quarterdeck.kit.backoff import compute_doubled
from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.sequencer import Ticket

__all__ = ["FIRST_RETRY_S", "LAST_RETRY_S", "WriteRetries"]

FIRST_RETRY_S: Final = 0.1
LAST_RETRY_S: Final = 60.0


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class WriteRetries:
    """The failed decisions by name, each with one timer and a delay that doubles."""

    def __init__(self, call_later: CallLater) -> None:
        self._call_later = call_later
        self._failures: dict[str, int] = {}
        self._timers: dict[str, Timer] = {}

    def watch(self, name: str, ticket: Ticket, repeat: Callable[[], None]) -> None:
        """Call `repeat` later if a write fails.

        The last write of a decision is enough: it is undone with every earlier one. A repetition
        that is due stays due when another write of that name succeeds.
        """

        def finish(error: StorageError | None) -> None:
            if error is None:
                self._failures.pop(name, None)
            else:
                self.add(name, repeat)

        ticket.call_when_done(finish)

    def add(self, name: str, repeat: Callable[[], None]) -> None:
        """Call `repeat` later, unless a call is due already."""
        if name in self._timers:
            return
        failures = self._failures.get(name, 0)
        self._failures[name] = failures + 1

        def fire() -> None:
            del self._timers[name]
            repeat()

        delay_s = compute_doubled(FIRST_RETRY_S, failures, LAST_RETRY_S)
        self._timers[name] = self._call_later(delay_s, fire)

    def forget(self, name: str) -> None:
        """Forget the failures of a decision that is not needed any more."""
        self._failures.pop(name, None)
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
