"""The value of a tree: one function for each kind of node."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.cost.meter import Meter
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.interpreter import calls, literals, loops, paths
from quarterdeck.cel.interpreter.evaluator import EvaluateFunction, Evaluator
from quarterdeck.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal_,
    MapExpr,
    MessageExpr,
    OptionalMap,
    Select,
)

_EVALUATE_FUNCTIONS: Mapping[type[Expr], EvaluateFunction] = {
    Literal_: literals.evaluate_constant,
    Ident: paths.evaluate_ident,
    Select: paths.evaluate_select,
    Call: calls.evaluate_call,
    ListExpr: literals.evaluate_list,
    MapExpr: literals.evaluate_map,
    MessageExpr: literals.evaluate_message,
    Comprehension: loops.evaluate_comprehension,
    OptionalMap: loops.evaluate_optional_map,
}


def interpret(tree: Expr, variables: Mapping[str, Any], meter: Meter | None = None) -> Any:
    """The value of an expression.

    Raises:
        EvaluationError: when it has none.
        BudgetExceeded: when the evaluation costs more than the meter allows.
    """
    try:
        return Evaluator(
            _EVALUATE_FUNCTIONS, variables, meter if meter is not None else Meter()
        ).evaluate_whole(tree)
    except RecursionError:
        raise EvaluationError("expression nests too deep to evaluate") from None
