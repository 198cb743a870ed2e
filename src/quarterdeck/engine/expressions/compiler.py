"""Compiles an expression to Python code, one version for each combination of kinds in use."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import ComputedType
from quarterdeck.engine.columns import Columns
from quarterdeck.engine.expressions.code import Code
from quarterdeck.engine.expressions.emitter import NOW_SECONDS, NOW_TEXT, Emitter
from quarterdeck.engine.expressions.errors import ExpressionError
from quarterdeck.engine.expressions.library import MAX_TEXT
from quarterdeck.engine.expressions.tree import Expression, find_names, list_age_arguments
from quarterdeck.engine.values import (
    ANY,
    BOOL,
    MAX_INTEGER,
    NULL,
    are_finite,
)

Evaluate: TypeAlias = Callable[..., list[Any]]

_MOST_VARIANTS = 32
"""Combinations of kinds that get their own code; others use the code for all kinds."""


class Moment(msgspec.Struct, frozen=True):
    """The time of a collection, as `age` and `now` see it."""

    seconds: float
    text: str


class CompiledExpression:
    """An expression ready to be evaluated over columns.

    Raises:
        ExpressionError: if Python's compiler cannot take it.
    """

    def __init__(self, tree: Expression, type_: ComputedType) -> None:
        self.names = tuple(sorted(find_names(tree)))
        self._times = list_age_arguments(tree)
        self._tree = tree
        self._type = type_
        self._variants: dict[tuple[int, ...], Evaluate] = {}
        try:
            self._generic = self._load((ANY,) * len(self.names))
        except _TOO_COMPLEX:
            hint = "split it into several computed fields"
            raise ExpressionError("the expression is too complex", 0, hint) from None

    def evaluate(self, columns: Columns, size: int, moment: Moment) -> list[Any]:
        """The values for `size` objects; every name is among the columns."""
        kinds = tuple(map(columns.get_kinds, self.names))
        evaluate = self._variants.get(kinds)
        if evaluate is None:
            evaluate = self._compile(kinds)
        inputs = [*map(columns.floats, self.names), *map(columns.seconds, self._times)]
        return _finish(evaluate(size, moment.seconds, moment.text, *inputs), self._type)

    def source(self, kinds: Mapping[str, int]) -> str:
        """The Python code for some kinds, for debugging."""
        text, _ = self._write(tuple(kinds[name] for name in self.names))
        return text

    def _compile(self, kinds: tuple[int, ...]) -> Evaluate:
        """Code for these kinds; the code for all kinds where there would be too many variants."""
        if len(self._variants) >= _MOST_VARIANTS:
            return self._generic
        try:
            evaluate = self._variants[kinds] = self._load(kinds)
        except _TOO_COMPLEX:
            evaluate = self._variants[kinds] = self._generic
        return evaluate

    def _load(self, kinds: tuple[int, ...]) -> Evaluate:
        text, helpers = self._write(kinds)
        scope: dict[str, Any] = {**_BUILTINS, **helpers}
        exec(compile(text, "<expression>", "exec"), scope)
        evaluate: Evaluate = scope["evaluate"]
        return evaluate

    def _write(self, kinds: tuple[int, ...]) -> tuple[str, dict[str, Any]]:
        variables = {name: f"v{index}" for index, name in enumerate(self.names)}
        times = {name: f"s{index}" for index, name in enumerate(self._times)}
        emitter = Emitter(dict(zip(self.names, kinds, strict=True)), variables, times)
        code = _coerce(emitter, self._tree, self._type)
        inputs = [f"c{index}" for index in range(len(variables) + len(times))]
        head = f"def evaluate({', '.join(['size', NOW_SECONDS, NOW_TEXT, *inputs])}):"
        if not inputs:
            return f"{head}\n    return [{code.text}] * size", emitter.helpers
        targets = ", ".join((*variables.values(), *times.values()))
        over = inputs[0] if len(inputs) == 1 else f"zip({', '.join(inputs)})"
        text = f"{head}\n    return [{code.text} for {targets} in {over}]"
        return text, emitter.helpers


_TOO_COMPLEX = (SyntaxError, RecursionError, MemoryError)
_BUILTINS = {"__builtins__": {"zip": zip, "len": len}}


def _coerce(emitter: Emitter, tree: Expression, type_: ComputedType) -> Code:
    """Code that converts the result to the computed field's type; null stays null."""
    if type_ in ("float", "integer"):
        return emitter.emit_number(tree)
    code = emitter.emit_value(tree)
    if code.kinds == NULL:
        return code
    if type_ == "string":
        text = emitter.emit_text(code)
        if code.is_nullable:
            text = (
                f"(None if (r := {code.text}) is None else {emitter.emit_text(_named(code, 'r'))})"
            )
            return Code(f"(s if (s := {text}) is None or len(s) <= {MAX_TEXT} else None)", ANY)
        return Code(f"(s if len(s := {text}) <= {MAX_TEXT} else None)", ANY)
    if code.kinds == BOOL:
        return code
    if code.is_nullable:
        return Code(f"(None if (r := {code.text}) is None else True if r else False)", ANY)
    return Code(f"(True if {code.text} else False)", BOOL)


def _named(code: Code, name: str) -> Code:
    return Code(name, code.kinds & ~NULL, is_atom=True)


def _finish(column: list[Any], type_: ComputedType) -> list[Any]:
    """Replace numbers that are not finite by null, and convert those of an integer field."""
    if type_ not in ("float", "integer"):
        return column
    has_null = None in column
    numbers = [value for value in column if value is not None] if has_null else column
    if not are_finite(numbers):
        column = [value if value is not None and math.isfinite(value) else None for value in column]
        has_null = True
        numbers = [value for value in column if value is not None]
    if type_ == "float":
        return column
    if not has_null and (not column or -MAX_INTEGER <= min(column) <= max(column) < MAX_INTEGER):
        return list(map(int, column))
    return [_to_integer(value) for value in column]


def _to_integer(value: float | None) -> int | None:
    if value is None or not -MAX_INTEGER <= value < MAX_INTEGER:
        return None
    return int(value)
