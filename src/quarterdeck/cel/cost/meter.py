"""Counts the cost of an evaluation while it runs."""

from quarterdeck.cel.errors import BudgetExceeded


class Meter:
    """Counts the cost of an evaluation, and ends it at the limit."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int | None = None) -> None:
        self.cost = 0
        self.limit = limit

    def charge(self, amount: int) -> None:
        """Add to the cost.

        Raises:
            BudgetExceeded: beyond the limit.
        """
        self.cost += amount
        if self.limit is not None and self.cost > self.limit:
            raise BudgetExceeded
