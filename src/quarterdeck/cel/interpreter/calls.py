"""Evaluates functions and operators, and charges the cost of each call."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.cost.charges import compute_cost
from quarterdeck.cel.errors import BudgetExceeded, EvaluationError
from quarterdeck.cel.interpreter.evaluator import EvaluateFunction, Evaluator
from quarterdeck.cel.interpreter.mismatch import refine_overload_error
from quarterdeck.cel.interpreter.stored import convert_selected, has_members
from quarterdeck.cel.library.dispatch import build_dispatcher
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr
from quarterdeck.cel.syntax.shapes import is_constant, is_path
from quarterdeck.cel.types import Kind
from quarterdeck.cel.values import NONE, Duration, Optional, UInt

_PATHS = frozenset({"_[_]", "_[?_]", "_?._", "size"})
"""Functions that need no conversion of a whole container, only of the item they return."""
_ZEROS: Mapping[Kind, Any] = {
    Kind.DURATION: Duration(0),
    Kind.DOUBLE: 0.0,
    Kind.UINT: UInt(0),
}
"""The sum of an empty list by its type; for other types it is the integer 0."""


def evaluate_call(evaluator: Evaluator, node: Call) -> Any:
    """Evaluate a call; calls that may not evaluate all arguments have their own functions."""
    function: EvaluateFunction = _LAZY.get(node.function, _evaluate_function)
    return function(evaluator, node)


# calls that may not evaluate all arguments


def _evaluate_logical(evaluator: Evaluator, node: Call) -> bool:
    """Evaluate `&&` or `||`; an error of one side is ignored if the other side decides."""
    decisive = node.function == "_||_"
    problem: EvaluationError | None = None
    for part in node.args:
        try:
            if evaluator.evaluate_bool(part) is decisive:
                return decisive
        except BudgetExceeded:
            raise
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return not decisive


def _evaluate_conditional(evaluator: Evaluator, node: Call) -> Any:
    condition, then, otherwise = node.args
    branch = then if evaluator.evaluate_bool(condition) else otherwise
    if is_path(branch):
        evaluator.charge(-1)
    return evaluator.visit(branch)


def _evaluate_not(evaluator: Evaluator, node: Call) -> bool:
    value = evaluator.evaluate_bool(node.args[0])
    evaluator.charge(1)
    return not value


def _evaluate_optional_or(evaluator: Evaluator, node: Call) -> Any:
    """`or` and `orValue` of an optional."""
    assert node.target is not None
    optional = evaluator.visit(node.target)
    if not isinstance(optional, Optional):  # a value of unknown type is returned as it is
        return optional
    if optional.present:
        return optional if node.function == "or" else optional.value
    return evaluator.visit(node.args[0])


_LAZY: Mapping[str, EvaluateFunction] = {
    "_&&_": _evaluate_logical,
    "_||_": _evaluate_logical,
    "_?_:_": _evaluate_conditional,
    "!_": _evaluate_not,
    "or": _evaluate_optional_or,
    "orValue": _evaluate_optional_or,
}


# everything else


def _evaluate_function(evaluator: Evaluator, node: Call) -> Any:
    args = _evaluate_arguments(evaluator, node)
    try:
        result = build_dispatcher(node.function)(*args)
    except (TypeError, AttributeError, KeyError):
        raise refine_overload_error(node.function, args, no_overload_error()) from None
    except BudgetExceeded:
        raise
    except EvaluationError as error:
        raise refine_overload_error(node.function, args, error) from None
    if node.function == "sum" and not args[0]:
        result = _ZEROS.get(node.type.kind, 0)
    if not _is_free(node, result):
        evaluator.charge(compute_cost(node.function, args, result))
    if node.function == "_?._" and has_members(node.args[0].type) and result.value is None:
        return NONE
    return convert_selected(node.type, result) if node.function in _PATHS else result


def _evaluate_arguments(evaluator: Evaluator, node: Call) -> list[Any]:
    """Evaluate all operands; if one fails, one unit is charged for the call itself."""
    try:
        return [
            _evaluate_argument(evaluator, node.function, at, part)
            for at, part in enumerate(node.operands)
        ]
    except BudgetExceeded:
        raise
    except EvaluationError:
        evaluator.charge(1)
        raise


def _evaluate_argument(evaluator: Evaluator, function: str, at: int, part: Expr) -> Any:
    if at == 0 and function in _PATHS:
        return evaluator.visit(part)
    if at == 1 and function == "_[_]" and is_path(part):
        return evaluator.evaluate_free(Evaluator.evaluate_whole, part)
    if at == 0 and function == "@sortByAssociatedKeys":
        value = evaluator.evaluate_free(Evaluator.evaluate_whole, part)
        evaluator.charge(2)
        return value
    return evaluator.evaluate_whole(part)


def _is_free(node: Call, result: Any) -> bool:
    """Whether a call costs nothing: `in` a constant list, and `.?` of an absent field."""
    if node.function == "@in":
        container = node.args[1]
        return isinstance(container, ListExpr) and is_constant(container)
    return node.function == "_?._" and isinstance(result, Optional) and not result.present
