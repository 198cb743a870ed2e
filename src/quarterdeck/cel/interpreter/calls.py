"""Functions and operators, and what each call costs."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.cel.cost.charges import actual
from quarterdeck.cel.errors import BudgetExceeded, EvaluationError
from quarterdeck.cel.interpreter.evaluator import Evaluator, Way
from quarterdeck.cel.interpreter.stored import has_members, settled
from quarterdeck.cel.library.dispatch import dispatcher
from quarterdeck.cel.operations.classes import no_overload
from quarterdeck.cel.syntax.ast import Call, Expr, ListExpr
from quarterdeck.cel.syntax.shapes import is_constant, is_path
from quarterdeck.cel.types import Kind
from quarterdeck.cel.values import NONE, Duration, Optional, UInt

_PATHS = frozenset({"_[_]", "_[?_]", "_?._", "size"})
"""Functions that look into a container rather than at it as a whole."""
_ZEROS: Mapping[Kind, Any] = {
    Kind.DURATION: Duration(0),
    Kind.DOUBLE: 0.0,
    Kind.UINT: UInt(0),
}
"""What an empty list sums up to, unless it is the integer."""


def call(evaluator: Evaluator, node: Call) -> Any:
    """Any call: those that may leave arguments unevaluated have ways of their own."""
    way: Way = _LAZY.get(node.function, _function)
    return way(evaluator, node)


# what may leave arguments unevaluated


def _logical(evaluator: Evaluator, node: Call) -> bool:
    """And and or: an error on one side is forgotten if the other side decides."""
    decisive = node.function == "_||_"
    problem: EvaluationError | None = None
    for part in node.args:
        try:
            if evaluator.boolean(part) is decisive:
                return decisive
        except BudgetExceeded:
            raise
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return not decisive


def _conditional(evaluator: Evaluator, node: Call) -> Any:
    condition, then, otherwise = node.args
    branch = then if evaluator.boolean(condition) else otherwise
    if is_path(branch):
        evaluator.charge(-1)
    return evaluator.visit(branch)


def _not(evaluator: Evaluator, node: Call) -> bool:
    value = evaluator.boolean(node.args[0])
    evaluator.charge(1)
    return not value


def _fallback(evaluator: Evaluator, node: Call) -> Any:
    """`or` and `orValue` of an optional."""
    assert node.target is not None
    optional = evaluator.visit(node.target)
    if not isinstance(optional, Optional):
        raise no_overload()
    if optional.present:
        return optional if node.function == "or" else optional.value
    other = evaluator.visit(node.args[0])
    if node.function == "or" and not isinstance(other, Optional):
        raise no_overload()
    return other


_LAZY: Mapping[str, Way] = {
    "_&&_": _logical,
    "_||_": _logical,
    "_?_:_": _conditional,
    "!_": _not,
    "or": _fallback,
    "orValue": _fallback,
}


# everything else


def _function(evaluator: Evaluator, node: Call) -> Any:
    args = _arguments(evaluator, node)
    try:
        result = dispatcher(node.function)(*args)
    except (TypeError, AttributeError, KeyError):
        raise no_overload() from None
    if node.function == "sum" and not args[0]:
        result = _ZEROS.get(node.type.kind, 0)
    if not _is_free(node, result):
        evaluator.charge(actual(node.function, args, result))
    if node.function == "_?._" and has_members(node.args[0].type) and result.value is None:
        return NONE
    return settled(node.type, result) if node.function in _PATHS else result


def _arguments(evaluator: Evaluator, node: Call) -> list[Any]:
    """The values of all operands; a call whose arguments fail has cost one unit by itself."""
    try:
        return [
            _argument(evaluator, node.function, at, part) for at, part in enumerate(node.operands)
        ]
    except BudgetExceeded:
        raise
    except EvaluationError:
        evaluator.charge(1)
        raise


def _argument(evaluator: Evaluator, function: str, at: int, part: Expr) -> Any:
    if at == 0 and function in _PATHS:
        return evaluator.visit(part)
    if at == 1 and function == "_[_]" and is_path(part):
        return evaluator.unpaid(Evaluator.whole, part)
    if at == 0 and function == "@sortByAssociatedKeys":
        value = evaluator.unpaid(Evaluator.whole, part)
        evaluator.charge(2)
        return value
    return evaluator.whole(part)


def _is_free(node: Call, result: Any) -> bool:
    """Looking up a constant set costs nothing, nor does finding nothing."""
    if node.function == "@in":
        container = node.args[1]
        return isinstance(container, ListExpr) and is_constant(container)
    return node.function == "_?._" and isinstance(result, Optional) and not result.present
