"""Indexes of a cache: from a value to the keys of the objects that have it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from quarterdeck.meta.identity import Key

T = TypeVar("T")

IndexFunction = Callable[[T], Iterable[str]]
"""The values an object is found by; must be pure and must not raise."""


class Index(Generic[T]):
    """One index. It keeps the values of each object, so that removal needs no old object."""

    __slots__ = ("_keys", "_values", "function")

    def __init__(self, function: IndexFunction[T]) -> None:
        self.function = function
        self._keys: dict[str, dict[Key, None]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def update(self, key: Key, obj: T) -> None:
        """Index the current values of an object."""
        values = tuple(dict.fromkeys(self.function(obj)))
        if self._values.get(key, ()) == values:
            return
        self.remove(key)
        if values:
            self._values[key] = values
            for value in values:
                self._keys.setdefault(value, {})[key] = None

    def remove(self, key: Key) -> None:
        """Remove an object; an unknown one is not an error."""
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            del keys[key]
            if not keys:
                del self._keys[value]

    def keys(self, value: str) -> Iterator[Key]:
        """The objects with a value, in the order they got it."""
        return iter(tuple(self._keys.get(value, ())))
