"""The budget of an expression that is evaluated on the event loop."""

from collections.abc import Callable

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT, PER_OBJECT_LIMIT, Budget

QUICK_COST = 20_000
"""The cost limit of one expression on the event loop; it takes a few milliseconds."""


class TooExpensive(Exception):
    """Raised when an evaluation is too expensive for the event loop."""


class InlineBudget(Budget):
    """A budget that aborts an evaluation that is too expensive for the event loop."""

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
        """As `Budget.can_afford`, which is called before each expression.

        Raises:
            TooExpensive: if the deadline has passed.
        """
        if self._now() > self._deadline_s:
            raise TooExpensive
        return super().can_afford(bound)

    def spend(self, amount: int) -> None:
        """As `Budget.spend`.

        Raises:
            TooExpensive: if the expression exceeded a limit.
        """
        super().spend(amount)
        if amount > self.per_call or self.remaining < 0:
            raise TooExpensive
