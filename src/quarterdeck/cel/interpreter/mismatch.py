"""cel-go's errors for calls whose arguments match no signature.

The error names the types of the arguments if the function has no overload for them. For an operator
it names the operator, unless the first operand has a type that may support it (`_OPERATORS`). For
some functions of the language itself it names nothing (`_UNNAMED`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.cel.checker.declarations import get_overloads
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.conversions import get_type
from quarterdeck.cel.operations.classes import class_of
from quarterdeck.cel.types import Kind, Type
from quarterdeck.cel.values import Duration, Timestamp, UInt

PLAIN = "no such overload"
_RECEIVERS = frozenset({str, Duration, Timestamp})
_NUMBERS = _RECEIVERS | {int, UInt, float}
_COMPARABLE = _NUMBERS | {bool, bytes}
_OPERATORS: Mapping[str, frozenset[type]] = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _COMPARABLE),
    "_+_": _NUMBERS | {bytes, list},
    **dict.fromkeys(("_-_", "_*_", "_/_"), _NUMBERS),
    "_%_": _NUMBERS - {float},
    "-_": _RECEIVERS | {int, float, bool},
    "size": _RECEIVERS | {bytes, list, dict},
}
"""Operators that the error names, and the types of the first operand for which it does not."""
_POINTERS = {"type": "*types.Type", "optional_type": "*types.Optional"}
_UNNAMED = frozenset({"contains", "endsWith", "matches", "startsWith", "@in", "_[_]", "_[?_]"})
_UNNAMED_FOR_OTHERS = frozenset({"find", "findAll"})
"""Functions whose argument types are named only for a string and at most one more argument."""
_LEAST = 2


def refine_overload_error(
    function: str, args: Sequence[Any], error: EvaluationError
) -> EvaluationError:
    """Replace a plain "no such overload" by cel-go's error; other errors stay as they are."""
    if str(error) != PLAIN or not args or function in _UNNAMED:
        return error
    first = class_of(args[0])
    if (known := _OPERATORS.get(function)) is not None:
        return error if first in known else EvaluationError(f"{PLAIN}: {function}")
    if function in _UNNAMED_FOR_OTHERS and (first is not str or len(args) > _LEAST):
        return error
    types = [get_type(value) for value in args]
    if any(_fits(overload.params, args, types) for overload in get_overloads(function)):
        return error
    return EvaluationError(f"{PLAIN}: {function}({', '.join(type_.name for type_ in types)})")


def build_range_error(value: Any) -> EvaluationError:
    """The error of a macro whose range is not iterable; it names cel-go's class of the value."""
    type_ = get_type(value)
    name = type_.name.rpartition(".")[2]
    if type_.kind in (Kind.STRUCT, Kind.OPAQUE):
        shown = _POINTERS.get(type_.name, f"cel.{name}")
    else:
        shown = _POINTERS.get(type_.name, f"types.{name.removesuffix('_type').capitalize()}")
    return EvaluationError(f"got '{shown}', expected iterable type")


def _fits(params: Sequence[Type], args: Sequence[Any], types: Sequence[Type]) -> bool:
    return len(params) == len(args) and all(map(_fits_one, params, args, types))


def _fits_one(param: Type, value: Any, type_: Type) -> bool:
    """Whether a value has a parameter's type; only the first element of a list is checked."""
    if param.kind in (Kind.DYN, Kind.PARAM):
        return True
    if param.kind is not type_.kind:
        return False
    if param.kind is Kind.LIST:
        return not value or _fits_one(param.params[0], value[0], get_type(value[0]))
    return param.kind not in (Kind.STRUCT, Kind.OPAQUE) or param.name == type_.name
