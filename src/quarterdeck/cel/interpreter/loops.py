"""Evaluates macros, and charges the cost of each iteration."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quarterdeck.cel.errors import BudgetExceeded, EvaluationError
from quarterdeck.cel.interpreter.evaluator import Evaluator
from quarterdeck.cel.interpreter.mismatch import build_range_error
from quarterdeck.cel.interpreter.stored import convert_scalar
from quarterdeck.cel.operations.classes import class_of, no_overload_error
from quarterdeck.cel.schema.conversion import find_scalar_converter
from quarterdeck.cel.syntax.ast import Comprehension, OptionalMap
from quarterdeck.cel.values import NONE, Optional, make_optional


def evaluate_comprehension(evaluator: Evaluator, node: Comprehension) -> Any:
    """The value of a macro that walks a list or map."""
    range_ = evaluator.visit(node.range)
    if class_of(range_) not in (list, dict):
        raise build_range_error(range_)
    with evaluator.bind_names(*filter(None, (node.var, node.var2))):
        return _LOOPS[node.kind](evaluator, node, _convert_range(node, range_))


def _convert_range(node: Comprehension, range_: Any) -> Any:
    """Convert all stored scalars of a range, before the first iteration."""
    params = node.range.type.params
    if not params or find_scalar_converter(params[-1]) is None:
        return range_
    if isinstance(range_, dict):
        return {key: convert_scalar(params[-1], value) for key, value in range_.items()}
    return [convert_scalar(params[-1], value) for value in range_]


def _iterate(evaluator: Evaluator, node: Comprehension, range_: Any) -> Iterator[Any]:
    """Bind the variables to one element after the other; yields what they are bound to."""
    scope = evaluator.scope
    is_map = isinstance(range_, dict)
    for key, value in range_.items() if is_map else enumerate(range_):
        if node.var2:
            scope[node.var], scope[node.var2] = key, value
            yield key, value
        else:
            scope[node.var] = one = key if is_map else value
            yield one


def _quantify(evaluator: Evaluator, node: Comprehension, range_: Any) -> bool:
    """Evaluate `all` or `exists`; an error is ignored if another iteration decides."""
    assert node.condition is not None
    decisive = node.kind == "exists"
    each = 4 if decisive else 3
    problem: EvaluationError | None = None
    left = len(range_)
    for _ in _iterate(evaluator, node, range_):
        left -= 1
        evaluator.charge(each)
        try:
            if evaluator.evaluate_bool(node.condition) is decisive:
                evaluator.charge(each if left else 1)
                return decisive
        except BudgetExceeded:
            raise
        except EvaluationError as error:
            problem = problem or error
    evaluator.charge(1)
    if problem is not None:
        raise problem
    return not decisive


def _evaluate_exists_one(evaluator: Evaluator, node: Comprehension, range_: Any) -> bool:
    assert node.condition is not None
    count = 0
    for _ in _iterate(evaluator, node, range_):
        if evaluator.evaluate_bool(node.condition):
            evaluator.charge(2)
            count += 1
    evaluator.charge(2)
    return count == 1


def _collect(evaluator: Evaluator, node: Comprehension, range_: Any) -> list[Any]:
    results: list[Any] = []
    for value in _filter_elements(evaluator, node, range_):
        evaluator.charge(12 if node.step is not None else 13)
        results.append(evaluator.evaluate_whole(node.step) if node.step is not None else value)
    evaluator.charge(1)
    return results


def _collect_map(evaluator: Evaluator, node: Comprehension, range_: Any) -> dict[Any, Any]:
    assert node.step is not None
    is_plain = node.kind == "transform_map"
    results: dict[Any, Any] = {}
    for key, _ in _filter_elements(evaluator, node, range_):
        value = evaluator.evaluate_whole(node.step)
        evaluator.charge(3 if is_plain else 2)
        fresh = {key: value} if is_plain else value
        if class_of(fresh) is not dict:
            raise no_overload_error()
        for name, item in fresh.items():
            if name in results:
                raise EvaluationError(f"insert failed: key {name} already exists")
            results[name] = item
    evaluator.charge(1)
    return results


def _filter_elements(evaluator: Evaluator, node: Comprehension, range_: Any) -> Iterator[Any]:
    """Iterate over the elements for which the condition is true; all if there is none."""
    for value in _iterate(evaluator, node, range_):
        if node.condition is None or evaluator.evaluate_bool(node.condition):
            yield value


_LOOPS: Mapping[str, Callable[[Evaluator, Comprehension, Any], Any]] = {
    "all": _quantify,
    "exists": _quantify,
    "exists_one": _evaluate_exists_one,
    "filter": _collect,
    "map": _collect,
    "transform_list": _collect,
    "transform_map": _collect_map,
    "transform_map_entry": _collect_map,
}


def evaluate_optional_map(evaluator: Evaluator, node: OptionalMap) -> Any:
    """Evaluate the body if the optional has a value; its target is then charged twice."""
    before = evaluator.meter.cost
    target = evaluator.visit(node.target)
    if not isinstance(target, Optional):
        raise no_overload_error()
    again = evaluator.meter.cost - before
    evaluator.charge(2)
    if not target.present:
        return NONE
    evaluator.charge(again if node.flat else again + 1)
    with evaluator.bind_names(node.var):
        evaluator.scope[node.var] = target.value
        value = evaluator.evaluate_whole(node.body)
    return value if node.flat else make_optional(value)
