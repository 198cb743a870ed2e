"""Expressions of policies and webhooks: evaluated at once while they are quick, else in a thread.

An expression may cost a million steps, a policy ten million, and a write may meet hundreds of
policies. So each evaluation gets a small budget first. What exceeds it, and what is about a large
object, is computed again in a thread. Between two evaluations others get their turn.
"""

import functools
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT, PER_OBJECT_LIMIT, Budget
from quarterdeck.kit.clock import Clock

Result = TypeVar("Result")

QUICK_COST = 20_000
"""What one expression may cost on the event loop: a few milliseconds."""


class TakesLong(Exception):
    """Raised when an evaluation is too expensive for the event loop."""


class MakeBudget(Protocol):
    """Makes the budget of an evaluation, as `Budget` itself does."""

    def __call__(
        self,
        limit: int = PER_OBJECT_LIMIT,
        *,
        per_call: int = PER_CALL_LIMIT,
        size: int | None = None,
    ) -> Budget:
        """A budget of `limit`, of which one expression may take `per_call`."""
        ...


class Threads(Protocol):
    """Where long computations run; see `server.core.worker`."""

    async def run_apart(self, compute: Callable[[], Result]) -> Result:
        """Compute something that may take long, in a thread."""
        ...


class QuickBudget(Budget):
    """A budget that ends the evaluation when it turns out to be expensive."""

    __slots__ = ("_deadline_s", "_now")

    def __init__(
        self,
        limit: int = PER_OBJECT_LIMIT,
        *,
        per_call: int = PER_CALL_LIMIT,
        size: int | None = None,
        now: Callable[[], float],
        deadline_s: float,
    ) -> None:
        super().__init__(limit, per_call=min(per_call, QUICK_COST), size=size)
        self._now = now
        self._deadline_s = deadline_s

    def can_afford(self, bound: int) -> bool:
        """As `Budget`; asked before each expression.

        Raises:
            TakesLong: if those before it took long.
        """
        if self._now() > self._deadline_s:
            raise TakesLong
        return super().can_afford(bound)

    def spend(self, amount: int) -> None:
        """As `Budget`.

        Raises:
            TakesLong: if the expression was ended because of its cost.
        """
        super().spend(amount)
        if amount > self.per_call or self.remaining < 0:
            raise TakesLong


class Computations(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Where the expressions of one server are evaluated."""

    threads: Threads
    clock: Clock
    inline_bytes: int
    """Larger objects are always computed with in a thread."""
    slice_s: float
    """How long a write may compute on the event loop before others get their turn."""

    def begin(self) -> "Computation":
        """Begin with the expressions of one write."""
        return Computation(self)


class Computation:
    """The evaluations for one write, one after the other."""

    def __init__(self, settings: Computations) -> None:
        self._settings = settings
        self._started = settings.clock.monotonic()

    async def run(self, size: int, compute: Callable[[MakeBudget], Result]) -> Result:
        """Evaluate something about `size` bytes; it may be called twice, so it changes nothing.

        Raises:
            Exception: what the evaluation raises.
        """
        settings, clock = self._settings, self._settings.clock
        if clock.monotonic() - self._started > settings.slice_s:
            await clock.sleep(0)
            self._started = clock.monotonic()
        if size <= settings.inline_bytes:
            deadline_s = self._started + 2 * settings.slice_s
            make = functools.partial(QuickBudget, now=clock.monotonic, deadline_s=deadline_s)
            try:
                return compute(make)
            except TakesLong:
                pass
        return await settings.threads.run_apart(lambda: compute(Budget))
