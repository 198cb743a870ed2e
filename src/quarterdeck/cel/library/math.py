"""cel-go's mathematical extensions."""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.introduction import NEVER
from quarterdeck.cel.operations import arithmetic, comparison
from quarterdeck.cel.operations.classes import class_of
from quarterdeck.cel.values import UInt

_KINDS = ("int", "uint", "double")
_COUNTS = range(1, 9)


def _declare() -> str:
    lines = []
    for word in ("greatest", "least"):
        for kind in _KINDS:
            name = f"math.{word} math_{word}_{kind}"
            lines += [f"{name}_{count} ({', '.join([kind] * count)}) {kind}" for count in _COUNTS]
            lines.append(f"{name}_list (list({kind})) {kind}")
    whole = ("ceil", "floor", "round", "trunc")
    lines += [f"math.{word} math_{word}_double (double) double" for word in whole]
    for word in ("abs", "sign"):
        lines += [f"math.{word} math_{word}_{kind} ({kind}) {kind}" for kind in _KINDS]
    tests = ("isNaN", "isInf", "isFinite")
    lines += [f"math.{word} math_{word}_double (double) bool" for word in tests]
    return "\n".join(lines)


LATER = {NEVER: _declare()}


def _pick(better: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def pick(*values: Any) -> Any:
        if len(values) == 1 and class_of(values[0]) is list:
            values = tuple(values[0])
            if not values:
                raise EvaluationError("math.@min(list) argument must not be empty")
        return reduce(lambda best, value: value if better(value, best) else best, values)

    return pick


def _round(value: float) -> float:
    if not math.isfinite(value):
        return value
    return math.copysign(math.floor(abs(value) + 0.5), value)


def _build_rounding(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(function(value)) if math.isfinite(value) else value


def _sign(value: Any) -> Any:
    if type(value) is float:
        return value if math.isnan(value) else float((value > 0) - (value < 0))
    return type(value)((value > 0) - (value < 0))


_GREATEST, _LEAST = _pick(comparison.is_greater), _pick(comparison.is_less)

FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "math.greatest": dict.fromkeys((int, UInt, float, list), _GREATEST),
    "math.least": dict.fromkeys((int, UInt, float, list), _LEAST),
    "math.ceil": {float: _build_rounding(math.ceil)},
    "math.floor": {float: _build_rounding(math.floor)},
    "math.round": {float: _round},
    "math.trunc": {float: _build_rounding(math.trunc)},
    "math.abs": {
        int: lambda value: arithmetic.check_int(abs(value)),
        UInt: lambda value: value,
        float: abs,
    },
    "math.sign": dict.fromkeys((int, UInt, float), _sign),
    "math.isNaN": {float: math.isnan},
    "math.isInf": {float: math.isinf},
    "math.isFinite": {float: math.isfinite},
}
