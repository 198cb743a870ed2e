"""Finding the implementation of a function for the values at hand."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel import library
from quarterdeck.cel.library.conversions import type_value
from quarterdeck.cel.operations import arithmetic, comparison, containers
from quarterdeck.cel.operations.classes import class_of, no_overload

OPERATORS: Mapping[str, Callable[..., Any]] = {
    "_+_": arithmetic.add,
    "_-_": arithmetic.subtract,
    "_*_": arithmetic.multiply,
    "_/_": arithmetic.divide,
    "_%_": arithmetic.modulo,
    "-_": arithmetic.negate,
    "_==_": comparison.equal,
    "_!=_": comparison.not_equal,
    "_<_": comparison.less,
    "_<=_": comparison.less_equals,
    "_>_": comparison.greater,
    "_>=_": comparison.greater_equals,
    "@in": containers.is_in,
    "_[_]": containers.index,
    "_[?_]": containers.optional_index,
    "_?._": containers.optional_select,
    "type": type_value,
    "dyn": lambda value: value,
}


@functools.cache
def dispatcher(function: str) -> Callable[..., Any]:
    """A callable for a function that picks the implementation by its first operand."""
    if (operator := OPERATORS.get(function)) is not None:
        return operator
    table = library.functions()[function]
    nullary = table.get(type(None))
    anything = table.get(object)

    def call(*args: Any) -> Any:
        if not args:
            if nullary is None:
                raise no_overload()
            return nullary()
        implementation = table.get(class_of(args[0]), anything)
        if implementation is None:
            raise no_overload()
        return implementation(*args)

    return call
