"""The columns of a batch, with cached properties of each."""

from typing import Any

from quarterdeck.engine.times import parse_times
from quarterdeck.engine.values import NUMBER, find_kinds


class Columns(dict[str, list[Any]]):
    """Columns by name: fields, computed fields and metadata. A column is not changed once it is in.

    Properties of a column are cached, because several expressions and aggregations need them.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, int] = {}
        self._floats: dict[str, list[Any]] = {}
        self._seconds: dict[str, list[float | None]] = {}

    def get_kinds(self, name: str) -> int:
        """The kinds of value of a column."""
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = find_kinds(self[name])
        return found

    def floats(self, name: str) -> list[Any]:
        """The column with its whole numbers as floats; the rest as it is."""
        if not self.get_kinds(name) & NUMBER:
            return self[name]
        found = self._floats.get(name)
        if found is None:
            found = self._floats[name] = _to_floats(self[name])
        return found

    def seconds(self, name: str) -> list[float | None]:
        """The times of a column in seconds since 1970; null where there is no time."""
        found = self._seconds.get(name)
        if found is None:
            found = self._seconds[name] = parse_times(self[name])
        return found


def _to_floats(column: list[Any]) -> list[Any]:
    types = set(map(type, column))
    if int not in types:
        return column
    try:
        if types <= {int, float}:
            return list(map(float, column))
        return [float(value) if type(value) is int else value for value in column]
    except OverflowError:
        return [_to_float(value) if type(value) is int else value for value in column]


def _to_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
