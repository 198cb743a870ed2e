"""Finds the implementation of a function for its arguments at run time."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel import library
from quarterdeck.cel.library.conversions import get_type
from quarterdeck.cel.operations import arithmetic, comparison, containers
from quarterdeck.cel.operations.classes import class_of, no_overload_error

OPERATORS: Mapping[str, Callable[..., Any]] = {
    "_+_": arithmetic.add,
    "_-_": arithmetic.subtract,
    "_*_": arithmetic.multiply,
    "_/_": arithmetic.divide,
    "_%_": arithmetic.modulo,
    "-_": arithmetic.negate,
    "_==_": comparison.is_equal,
    "_!=_": comparison.is_not_equal,
    "_<_": comparison.is_less,
    "_<=_": comparison.is_less_or_equal,
    "_>_": comparison.is_greater,
    "_>=_": comparison.is_greater_or_equal,
    "@in": containers.is_in,
    "_[_]": containers.get_index,
    "_[?_]": containers.get_optional_index,
    "_?._": containers.select_optional,
    "type": get_type,
    "dyn": lambda value: value,
}


@functools.cache
def build_dispatcher(function: str) -> Callable[..., Any]:
    """A callable for a function that picks the implementation by its first operand."""
    if (operator := OPERATORS.get(function)) is not None:
        return operator
    table = library.get_functions()[function]
    nullary = table.get(type(None))
    anything = table.get(object)

    def call(*args: Any) -> Any:
        if not args:
            if nullary is None:
                raise no_overload_error()
            return nullary()
        implementation = table.get(class_of(args[0]), anything)
        if implementation is None:
            raise no_overload_error()
        return implementation(*args)

    return call
