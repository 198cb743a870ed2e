"""The value of a tree: every kind of node has its way."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.cost.meter import Meter
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.interpreter import calls, literals, loops, paths
from quarterdeck.cel.interpreter.evaluator import Evaluator, Way
from quarterdeck.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal_,
    MapExpr,
    OptionalMap,
    Select,
)

_WAYS: Mapping[type[Expr], Way] = {
    Literal_: literals.constant,
    Ident: paths.ident,
    Select: paths.select,
    Call: calls.call,
    ListExpr: literals.list_literal,
    MapExpr: literals.map_literal,
    Comprehension: loops.comprehension,
    OptionalMap: loops.optional_map,
}


def interpret(tree: Expr, variables: Mapping[str, Any], meter: Meter | None = None) -> Any:
    """The value of an expression.

    Raises:
        EvaluationError: when it has none.
        BudgetExceeded: when finding out costs more than the meter allows.
    """
    try:
        return Evaluator(_WAYS, variables, meter if meter is not None else Meter()).whole(tree)
    except RecursionError:
        raise EvaluationError("expression nests too deep to evaluate") from None
