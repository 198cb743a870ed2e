"""The types of macros: of their ranges, variables and results."""

from typing import NamedTuple

from quarterdeck.cel.checker.checker import Checker
from quarterdeck.cel.syntax.ast import Comprehension, Expr, OptionalMap
from quarterdeck.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    Kind,
    Type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
)


class _RangeTypes(NamedTuple):
    """The types in a range: its indexes or keys, and its elements."""

    key: Type
    element: Type


def check_comprehension(checker: Checker, node: Comprehension) -> Type:
    """Infer the type of a macro that iterates over a list or map."""
    range_type = checker.resolve(node.range)
    walked = _infer_range(checker, node.range, range_type)
    scope = {node.var: walked.key if range_type.kind is Kind.MAP else walked.element}
    if node.var2:
        scope = {node.var: walked.key, node.var2: walked.element}
    checker.scopes.append(scope)
    if node.condition is not None:
        _require_bool(checker, node.condition)
    step = checker.visit(node.step) if node.step is not None else DYN
    checker.scopes.pop()
    match node.kind:
        case "all" | "exists" | "exists_one":
            return BOOL
        case "filter":
            return list_of(scope[node.var])
        case "map" | "transform_list":
            return list_of(step)
        case "transform_map":
            return map_of(walked.key, step)
        case "transform_map_entry":
            return step if step.kind is Kind.MAP else map_of(DYN, DYN)


def _infer_range(checker: Checker, node: Expr, type_: Type) -> _RangeTypes:
    match type_.kind:
        case Kind.LIST:
            return _RangeTypes(INT, type_.params[0])
        case Kind.MAP:
            return _RangeTypes(type_.params[0], type_.params[1])
        case Kind.DYN | Kind.ERROR | Kind.PARAM:
            return _RangeTypes(DYN, DYN)
    checker.report(
        node.pos,
        f"expression of type '{type_}' cannot be range of a comprehension "
        "(must be list, map, or dynamic)",
    )
    return _RangeTypes(ERROR, ERROR)


def _require_bool(checker: Checker, node: Expr) -> None:
    given = checker.visit(node)
    if not checker.inference.unify((given,), (BOOL,)):
        shown = checker.inference.resolve_fully(given)
        checker.report(node.pos, f"expected type 'bool' but found '{shown}'")


def check_optional_map(checker: Checker, node: OptionalMap) -> Type:
    """Infer the type of `optMap`, an optional of its body, or `optFlatMap`, whose body is one."""
    checker.scopes.append({node.var: _unwrap_optional(checker, node, checker.resolve(node.target))})
    body = checker.resolve(node.body)
    checker.scopes.pop()
    if not node.flat:
        return optional_of(body)
    if is_optional(body) or is_dyn(body):
        return body
    return checker.report(
        node.pos,
        "found no matching overload for '_?_:_' applied to "
        f"'(bool, {body}, optional_type({body}))'",
    )


def _unwrap_optional(checker: Checker, node: OptionalMap, target: Type) -> Type:
    """The type of the value in the optional target; any other target is an error."""
    if is_optional(target):
        return target.params[0]
    if is_dyn(target):
        return DYN
    return checker.report(
        node.pos, f"found no matching overload for 'hasValue' applied to '{target}.()'"
    )
