"""What a suite is: cases, and for each case the contenders that are measured against each other."""

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

Value = TypeVar("Value")

OURS = "quarterdeck"
"""The contender every ratio is taken against."""

Measure = Callable[[], float]
"""Runs one round and returns its figure, in the unit of the case."""


class Scale(enum.Enum):
    """How much is run."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"

    def pick(self, quick: Value, standard: Value, full: Value) -> Value:
        """The value for this scale."""
        return {Scale.QUICK: quick, Scale.STANDARD: standard, Scale.FULL: full}[self]


@dataclass(frozen=True)
class Missing:
    """A contender that cannot take part, and why."""

    reason: str


Contenders = Mapping[str, Measure | Missing]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question: how much does this cost, for us and for the others?"""

    name: str
    unit: str
    open: Callable[[int], AbstractContextManager[Contenders]]
    """Given a size, sets everything up, yields the contenders, and tears it down."""
    sizes: Sequence[int] = (1,)
    """Several sizes ask how the cost grows; then the figure must be the cost of the whole size."""
    is_more_better: bool = False
    note: str = ""
    rounds: int | None = None
    """How often each contender is measured, where that is not for the scale to say."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Cases about one part of the product."""

    name: str
    title: str
    cases: Callable[[Scale], Sequence[Case]]
    versions: Sequence[str] = field(default=())
    """Distributions whose versions belong to the result."""
    programs: Sequence[str] = field(default=())
    """Programs whose versions belong to the result; see `programs`."""
    is_process: bool = False
    """Measures processes, not functions: fewer rounds."""
