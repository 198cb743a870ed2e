"""Errors of the engine.

EngineError
└── SourceError    a MetricSource that cannot be compiled; has every problem at once
"""

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake in a MetricSource: its place, a message and a hint."""

    field: str
    """Place in the spec: `fields[0].path`, `computed[2].expression`, `aggregations[1].filter`."""
    name: str = ""
    """Name of the field, computed field or aggregation."""
    message: str
    hint: str = ""
    """What to do."""
    text: str = ""
    """The path or expression."""
    position: int | None = None
    """Offset of the first wrong character in `text`, counted from 0."""

    def __str__(self) -> str:
        """One line: place, name, message, column and hint."""
        place = f"spec.{self.field}"
        where = f"{place} ({self.name})" if self.name else place
        column = f" at column {self.position + 1}" if self.position is not None else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{where}: {self.message}{column}{hint}"


class EngineError(Exception):
    """The root of what the engine raises."""


class SourceError(EngineError):
    """Raised when a MetricSource cannot be compiled."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))
