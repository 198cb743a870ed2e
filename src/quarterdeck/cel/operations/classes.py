"""What a value counts as, and the complaint when nothing is declared for it."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.values import MapList, SetList, UInt

NUMBERS = frozenset({int, UInt, float})
"""Classes whose values may be compared with each other."""
_PLAIN: Mapping[type, type] = {SetList: list, MapList: list, tuple: list}


def no_overload_error() -> EvaluationError:
    """No signature fits these arguments."""
    return EvaluationError("no such overload")


def class_of(value: Any) -> type:
    """The Python class a value counts as."""
    kind = type(value)
    return _PLAIN.get(kind, kind)
