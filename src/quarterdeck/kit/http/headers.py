"""Header fields as a case-insensitive multi-map that costs little to build."""

from collections.abc import Iterable, Iterator
from typing import overload


class Headers:
    """Header fields in the order of arrival; names are lower case."""

    __slots__ = ("_index", "_pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = [(name.lower(), value) for name, value in pairs]
        self._index = dict(reversed(self._pairs))
        """The first value of each field."""

    @classmethod
    def of_lower(
        cls, pairs: list[tuple[str, str]], index: dict[str, str] | None = None
    ) -> "Headers":
        """Take over pairs whose names are already lower case; `index` maps to the first values."""
        headers = cls.__new__(cls)
        headers._pairs = pairs
        headers._index = dict(reversed(pairs)) if index is None else index
        return headers

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: str) -> str: ...

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of a field."""
        value = self._index.get(name)
        return value if value is not None else self._index.get(name.lower(), default)

    def find(self, lower_name: str) -> str | None:
        """The first value of a field whose name is given in lower case."""
        return self._index.get(lower_name)

    def get_all(self, name: str) -> list[str]:
        """Every value of a field, in order."""
        wanted = name.lower()
        return [value for field, value in self._pairs if field == wanted]

    def has_prefix(self, prefix: str) -> bool:
        """Whether the name of a field begins with a prefix, given in lower case."""
        for name in self._index:  # noqa: SIM110 - a generator costs more than the loop
            if name.startswith(prefix):
                return True
        return False

    def items(self) -> list[tuple[str, str]]:
        """All fields in order, names in lower case."""
        return list(self._pairs)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._pairs))

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return self._pairs == other._pairs if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a multi-map has no cheap stable hash

    def __repr__(self) -> str:
        return f"Headers({sorted({name for name, _ in self._pairs})})"
