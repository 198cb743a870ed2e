"""The classes of run-time values that Python has no exact counterpart for.

bool, int, float, str, bytes, None, list and dict represent themselves; the operations, not a type,
limit integers to 64 bits.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from quarterdeck.cel.errors import EvaluationError

INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1
UINT_MAX: Final = (1 << 64) - 1
SECOND: Final = 1_000_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = -62135596800 * SECOND
_LAST = 253402300799 * SECOND + 999_999_999


class UInt(int):
    """An unsigned integer; equal to and hashed like the int of the same value."""

    __slots__ = ()


class _Nanoseconds:
    """A number of nanoseconds, which is compared only with values of the same class."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.ns == other.ns

    def __hash__(self) -> int:
        return hash((type(self), self.ns))

    def __lt__(self, other: Self) -> bool:
        return self.ns < other.ns

    def __le__(self, other: Self) -> bool:
        return self.ns <= other.ns

    def __gt__(self, other: Self) -> bool:
        return self.ns > other.ns

    def __ge__(self, other: Self) -> bool:
        return self.ns >= other.ns


class Duration(_Nanoseconds):
    """A signed span of nanoseconds."""

    __slots__ = ()

    def __init__(self, ns: int) -> None:
        if not INT_MIN <= ns <= INT_MAX:
            raise EvaluationError("integer overflow")
        super().__init__(ns)

    def __repr__(self) -> str:
        return f"Duration({self.ns})"

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.ns), SECOND)
        text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(whole)
        return f"{'-' if self.ns < 0 else ''}{text}s"


class Timestamp(_Nanoseconds):
    """A moment, in nanoseconds since 1970; years 1 to 9999.

    `offset` is the time zone it was written in, in seconds, kept for printing alone.
    """

    __slots__ = ("offset",)

    def __init__(self, ns: int, offset: int = 0) -> None:
        if not _FIRST <= ns <= _LAST:
            raise EvaluationError("timestamp overflow")
        super().__init__(ns)
        self.offset = offset

    def __repr__(self) -> str:
        return f"Timestamp({self})"

    def __str__(self) -> str:
        seconds, rest = divmod(self.ns, SECOND)
        local = _EPOCH + timedelta(seconds=seconds + self.offset)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        hours, minutes = divmod(abs(self.offset) // 60, 60)
        sign = "-" if self.offset < 0 else "+"
        zone = f"{sign}{hours:02d}:{minutes:02d}" if self.offset else "Z"
        return f"{local.replace(tzinfo=None).isoformat()}{fraction}{zone}"

    def to_datetime(self) -> datetime:
        """The same moment as a datetime, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.ns // 1000)


class Optional:
    """A value that may be absent."""

    __slots__ = ("present", "value")

    def __init__(self, *, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(present=False)


def make_optional(value: Any) -> Optional:
    """An optional that holds a value."""
    return Optional(present=True, value=value)


class SetList(list[Any]):
    """A list whose order does not matter for equality and whose sum is a union."""

    __slots__ = ()


class MapList(list[Any]):
    """A list with list type `map`: items with equal keys are the same entry."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key(self, item: Any) -> tuple[Any, ...]:
        """What identifies an item."""
        return tuple(item.get(name) for name in self.keys)


class Message(dict[str, Any]):
    """A value of a named type that an expression constructed: `Name{member: value}`."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Message)
            and self.type_name == other.type_name
            and dict.__eq__(self, other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as of any dict
