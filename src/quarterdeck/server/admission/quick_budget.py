"""The budget of an expression that is evaluated on the event loop."""

from collections.abc import Callable

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT, PER_OBJECT_LIMIT, Budget

QUICK_COST = 20_000
"""What one expression may cost on the event loop: a few milliseconds."""


class TakesLong(Exception):
    """Raised when an evaluation is too expensive for the event loop."""


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
