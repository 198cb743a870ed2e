"""Estimates the minimum and maximum cost of an expression.

Kubernetes refuses a CRD whose rules could be too expensive. Ranges saturate at 64 bits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from quarterdeck.cel.cost.prices import Price, compute_price
from quarterdeck.cel.cost.sizes import Sizes
from quarterdeck.cel.cost.units import LIST_COST, MAP_COST, MAX, ONE, STRUCT_COST, ZERO, Range
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
from quarterdeck.cel.types import Kind, Type
from quarterdeck.meta.release import has_feature


def estimate(tree: Expr, *, root: Type | None = None, cap: int | None = None) -> Range:
    """The minimum and maximum cost of evaluating the tree; for `root` and `cap` see `Sizes`."""
    declared = root is not None and root.min_size > 0
    return _Estimator(Sizes(root if declared and cap is None else None, cap)).visit(tree)


class _Estimator:
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def visit(self, node: Expr) -> Range:
        return _VISITS[type(node)](self, node)

    def sum_costs(self, nodes: Iterable[Expr]) -> Range:
        return _sum(map(self.visit, nodes))

    # names and literals

    def estimate_constant(self, node: Literal_) -> Range:
        return ZERO

    def estimate_ident(self, node: Ident) -> Range:
        self.sizes.declare(node, self.sizes.resolve(node))
        return ONE

    def estimate_select(self, node: Select) -> Range:
        if node.ident is not None:
            self.sizes.declare(node, self.sizes.root)
            return ONE
        cost = self.visit(node.operand)
        if node.test:
            return cost
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT):
            cost = cost.add(ONE)
        declared = self.sizes.find_declaration(node.operand)
        if declared is None:  # Kubernetes takes what a literal or a call yields for the root
            self.sizes.declare(node, self.sizes.root)
        elif declared.kind is Kind.STRUCT and node.field in declared.fields:
            self.sizes.declare(node, declared.fields[node.field].type)
        return cost

    def estimate_list(self, node: ListExpr) -> Range:
        return self.sum_costs(node.elements).add(_LIST)

    def estimate_map(self, node: MapExpr) -> Range:
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
        return self.sum_costs(parts).add(_MAP)

    def estimate_message(self, node: MessageExpr) -> Range:
        return self.sum_costs(entry.value for entry in node.entries).add(_STRUCT)

    # calls

    def estimate_call(self, node: Call) -> Range:
        costs = [self.visit(part) for part in node.args]
        if node.function == "dyn" and has_feature("NewerExpressions"):
            self.record_dyn_size(node)
        target = self.visit(node.target) if node.target is not None else ZERO
        prices = [self.estimate_overload(node, overload, costs) for overload in node.overloads]
        made = [each.size for each in prices if each.size is not None]
        if made:
            self.sizes.record(node, reduce(Range.union, made))
        return target.add(reduce(Range.union, [each.cost for each in prices]))

    def record_dyn_size(self, node: Call) -> None:
        """Record that the result of `dyn` has the size of its argument."""
        if (size := self.sizes.find_exact(node.args[0])) is not None:
            self.sizes.record(node, size)

    def estimate_overload(self, node: Call, overload: str, costs: Sequence[Range]) -> Price:
        """The price of a call and of its arguments, some of which may not be evaluated."""
        match overload:
            case "logical_or" | "logical_and":
                return Price(Range(costs[0].min, costs[0].add(costs[1]).max))
            case "conditional":
                size = self.sizes.estimate(node.args[1]).union(self.sizes.estimate(node.args[2]))
                return Price(costs[0].add(costs[1].union(costs[2])), size)
            case "index_list" | "index_map":
                self.declare_index(node)
        found = compute_price(self.sizes, node, overload)
        return Price(found.cost.add(_sum(costs)), found.size)

    def declare_index(self, node: Call) -> None:
        """Record the declared type of the elements as that of an index expression."""
        declared = self.sizes.find_declaration(node.args[0])
        if declared is not None and declared.params:
            self.sizes.declare(node, declared.params[-1])

    # macros

    def estimate_comprehension(self, node: Comprehension) -> Range:
        cost = self.visit(node.range)
        self.sizes.scopes.append(_build_scope(node, self.sizes))
        condition = self.visit(node.condition) if node.condition is not None else ZERO
        step = self.visit(node.step) if node.step is not None else ZERO
        self.sizes.scopes.pop()
        before, each, after = _split_costs(node, condition, step)
        count = self.sizes.estimate(node.range)
        is_one_value = node.kind in ("all", "exists", "exists_one")
        self.sizes.record(node, ONE if is_one_value else count)
        return cost.add(before).add(after).add(count.multiply(each))

    def estimate_optional_map(self, node: OptionalMap) -> Range:
        target = self.visit(node.target)
        self.sizes.scopes.append({node.var: None})
        body = self.visit(node.body)
        self.sizes.scopes.pop()
        bound = target.add(body).add(_LIST).add(ONE)
        present = bound if node.flat else bound.add(ONE)
        return target.add(ONE).add(present.union(ONE))


_LIST = Range(LIST_COST, LIST_COST)
_MAP = Range(MAP_COST, MAP_COST)
_STRUCT = Range(STRUCT_COST, STRUCT_COST)

_VISITS: Mapping[type[Expr], Callable[[_Estimator, Any], Range]] = {
    Literal_: _Estimator.estimate_constant,
    Ident: _Estimator.estimate_ident,
    Select: _Estimator.estimate_select,
    Call: _Estimator.estimate_call,
    ListExpr: _Estimator.estimate_list,
    MapExpr: _Estimator.estimate_map,
    MessageExpr: _Estimator.estimate_message,
    Comprehension: _Estimator.estimate_comprehension,
    OptionalMap: _Estimator.estimate_optional_map,
}


def _sum(costs: Iterable[Range]) -> Range:
    return reduce(Range.add, costs, ZERO)


def _build_scope(node: Comprehension, sizes: Sizes) -> dict[str, Type | None]:
    """The declared types of the variables; for a range without a declaration, the root's type."""
    declared = sizes.find_declaration(node.range)
    if declared is None:
        return {name: sizes.root for name in (node.var, node.var2) if name}
    params = declared.params if declared.min_size else ()
    is_map = node.range.type.kind is Kind.MAP
    key = params[0] if params and is_map else None
    element = params[-1] if params else None
    if node.var2:
        value = element if has_feature("SizesOfValuesInMacros") else sizes.root
        return {node.var: key, node.var2: value}
    return {node.var: key if is_map else element}


def _split_costs(node: Comprehension, condition: Range, step: Range) -> tuple[Range, Range, Range]:
    """The cost before the loop, of one iteration, and after the loop."""
    made = _LIST
    match node.kind:
        case "all":
            return ZERO, Range(3, min(3 + condition.max, MAX)), ONE
        case "exists":
            return ZERO, Range(4, min(4 + condition.max, MAX)), ONE
        case "exists_one":
            return ZERO, condition.add(Range(1, 2)), Range(2, 2)
        case "map" | "transform_list":
            body = step.add(_LIST).add(Range(2, 2))
        case "filter":
            body = _LIST.add(Range(3, 3))
        case "transform_map" | "transform_map_entry":
            made = _MAP
            body = step.add(Range(3, 3) if node.kind == "transform_map" else Range(2, 2))
    if node.condition is not None:
        body = condition.add(body.union(ONE))
    return made, body, ONE
