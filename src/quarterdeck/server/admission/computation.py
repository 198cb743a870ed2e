"""Evaluates expressions of policies and webhooks: on the event loop if cheap, else in a thread.

An expression may cost a million steps, a policy ten million, and a write may meet hundreds of
policies. So each evaluation gets a small budget first. What exceeds it, and what is about a large
object, is computed again in a thread. Between two evaluations other requests may run.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from quarterdeck.kit.clock import Clock

if TYPE_CHECKING:
    from quarterdeck.cel.cost.budget import Budget

Result = TypeVar("Result")


class MakeBudget(Protocol):
    """Builds the budget of an evaluation: the class `Budget`, or a function with its signature."""

    def __call__(
        self,
        limit: int = ...,
        *,
        per_call: int = ...,
        size: int | None = None,
    ) -> "Budget":
        """Build a budget of `limit`, of which one expression may spend `per_call`."""
        ...


class Threads(Protocol):
    """Runs long computations in threads; implemented by `server.core.worker`."""

    async def run_in_thread(self, compute: Callable[[], Result]) -> Result:
        """Compute something that may take long, in a thread."""
        ...


class Computations(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Settings of one server for the evaluation of expressions."""

    threads: Threads
    clock: Clock
    inline_bytes: int
    """Expressions on larger objects are always evaluated in a thread."""
    slice_s: float
    """How long one write may compute on the event loop before it yields to other requests."""

    def begin(self) -> "Computation":
        """Start the evaluations for one write."""
        return Computation(self)


class Computation:
    """The evaluations for one write, one after the other."""

    def __init__(self, settings: Computations) -> None:
        self._settings = settings
        self._started = settings.clock.monotonic()

    async def run(self, size: int, compute: Callable[[MakeBudget], Result]) -> Result:
        """Call `compute`, which reads `size` bytes; it may be called twice and must change nothing.

        Raises:
            Exception: what the evaluation raises.
        """
        from quarterdeck.cel.cost.budget import Budget  # most servers evaluate nothing
        from quarterdeck.server.admission.inline_budget import InlineBudget, TooExpensive

        settings, clock = self._settings, self._settings.clock
        if clock.monotonic() - self._started > settings.slice_s:
            await clock.sleep(0)
            self._started = clock.monotonic()
        if size <= settings.inline_bytes:
            deadline_s = self._started + 2 * settings.slice_s
            make = functools.partial(InlineBudget, now=clock.monotonic, deadline_s=deadline_s)
            try:
                return compute(make)
            except TooExpensive:
                pass
        return await settings.threads.run_in_thread(lambda: compute(Budget))
