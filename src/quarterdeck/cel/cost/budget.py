"""The limits on the cost of evaluations."""

from bisect import bisect_left

PER_CALL_LIMIT = 1_000_000
"""The most one evaluation of one expression may cost."""
PER_OBJECT_LIMIT = 10_000_000
"""The most all rules on one object may cost together."""

_CHEAP = 100_000
_CAPS = (256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20)


def round_size_up(size: int) -> int:
    """Round a size up to one of a few values, so that few cost bounds are computed and cached."""
    return _CAPS[place] if (place := bisect_left(_CAPS, size)) < len(_CAPS) else size


class Budget:
    """The remaining cost that expressions may use.

    `size` is the number of bytes of the data; knowing it lets cheap expressions run without
    counting every step.
    """

    __slots__ = ("cap", "per_call", "remaining", "size")

    def __init__(
        self,
        limit: int = PER_OBJECT_LIMIT,
        *,
        per_call: int = PER_CALL_LIMIT,
        size: int | None = None,
    ) -> None:
        self.remaining = limit
        self.per_call = per_call
        self.size = size
        self.cap = round_size_up(size) if size is not None else 0

    def can_afford(self, bound: int) -> bool:
        """Whether an expression that costs at most `bound` may run without counting each step."""
        return bound <= self.per_call and bound <= _CHEAP and bound <= self.remaining

    def spend(self, amount: int) -> None:
        """Subtract a cost from what remains, which may become negative."""
        self.remaining -= amount
