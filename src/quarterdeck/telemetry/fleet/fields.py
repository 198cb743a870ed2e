"""The fields in the tables of messages."""

from typing import NamedTuple


class Field(NamedTuple):
    """One field: its number, its JSON name, and its type.

    A type is a scalar, the name of a message or enum, `repeated X`, `map X` (keys are strings) or
    `optional X`, which has presence: its zero value is sent, and differs from absence.
    """

    number: int
    name: str
    type: str


def declare_fields(*fields: tuple[int, str, str]) -> tuple[Field, ...]:
    """Declare the fields of a message."""
    return tuple(Field(*each) for each in fields)
