"""Finding the implementation of a function for the values at hand."""

from collections.abc import Callable, Mapping
from typing import Any

from quarterdeck.cel import library, operations
from quarterdeck.cel.library.conversions import type_value
from quarterdeck.cel.operations import class_of, no_overload

OPERATORS: Mapping[str, Callable[..., Any]] = {
    "_+_": operations.add,
    "_-_": operations.subtract,
    "_*_": operations.multiply,
    "_/_": operations.divide,
    "_%_": operations.modulo,
    "-_": operations.negate,
    "_==_": operations.equal,
    "_!=_": operations.not_equal,
    "_<_": operations.less,
    "_<=_": operations.less_equals,
    "_>_": operations.greater,
    "_>=_": operations.greater_equals,
    "@in": operations.is_in,
    "_[_]": operations.index,
    "_[?_]": operations.optional_index,
    "_?._": operations.optional_select,
    "type": type_value,
    "dyn": lambda value: value,
}


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
