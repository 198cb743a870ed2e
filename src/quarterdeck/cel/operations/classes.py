"""The class by which overloads are chosen for a value, and the error if there is none."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.values import MapList, SetList, UInt

NUMBERS = frozenset({int, UInt, float})
"""Classes whose values may be compared with each other."""
_PLAIN: Mapping[type, type] = {SetList: list, MapList: list, tuple: list}


def no_overload_error() -> EvaluationError:
    """The error when no overload matches the arguments."""
    return EvaluationError("no such overload")


def class_of(value: Any) -> type:
    """The class by which overloads are chosen for a value; all lists have one class."""
    kind = type(value)
    return _PLAIN.get(kind, kind)
