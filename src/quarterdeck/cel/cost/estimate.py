"""What an expression may cost, at least and at most.

Kubernetes refuses a CRD whose rules could be too expensive; sizes come from the schema, and where
it says nothing, from the largest request there can be. Ranges saturate at 64 bits.
"""

import math
from collections.abc import Sequence

from quarterdeck.cel.cost.units import (
    BY_SIZE,
    LIST_COST,
    MAP_COST,
    MAX,
    NOMINAL,
    ONE,
    PARSERS,
    REGEX_FACTOR,
    SEARCHES,
    STRING_FACTOR,
    STRUCT_COST,
    UNIT_EQUALITY,
    UNKNOWN,
    ZERO,
    Range,
    selector_cost,
)
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
from quarterdeck.cel.types import SCALARS, Kind, Type, is_optional


def estimate(tree: Expr, *, root: Type | None = None, cap: int | None = None) -> Range:
    """What evaluating the tree costs at least and at most.

    `root` is the declared type of the data; Kubernetes reads from it the size of whatever has no
    declaration of its own. `cap` bounds every size, for a caller who knows how large the data is.
    """
    declared = root is not None and root.min_size > 0
    return _Estimator(root if declared and cap is None else None, cap).visit(tree)


_GROWTH = 32
"""How much longer than its arguments we assume the result of an unknown function to be."""


class _Estimator:
    def __init__(self, root: Type | None, cap: int | None) -> None:
        self.root = root
        self.cap = cap
        self.sizes: dict[int, Range] = {}
        self.known: dict[int, Type | None] = {}
        self.scope: list[dict[str, Type | None]] = []

    def visit(self, node: Expr) -> Range:
        match node:
            case Literal_():
                return ZERO
            case Ident():
                self.known[id(node)] = self.resolve(node)
                return ONE
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListExpr():
                return self.total(node.elements).plus(Range(LIST_COST, LIST_COST))
            case MapExpr():
                parts = [part for entry in node.entries for part in (entry.key, entry.value)]
                return self.total(parts).plus(Range(MAP_COST, MAP_COST))
            case MessageExpr():
                values = [entry.value for entry in node.entries]
                return self.total(values).plus(Range(STRUCT_COST, STRUCT_COST))
            case Comprehension():
                return self.comprehension(node)
            case OptionalMap():
                return self.optional_map(node)
        raise TypeError(f"unknown node {type(node).__name__}")

    def total(self, nodes: Sequence[Expr]) -> Range:
        sum_ = ZERO
        for node in nodes:
            sum_ = sum_.plus(self.visit(node))
        return sum_

    # sizes

    def resolve(self, node: Ident) -> Type | None:
        """The declaration a name leads to: sizes are read from it."""
        for names in reversed(self.scope):
            if node.name in names:
                return names[node.name]
        return node.type if node.type_value is None else self.root

    def size(self, node: Expr) -> Range:
        """How large a value may be."""
        if (size := self.exact(node)) is not None:
            return size
        declared = self.known.get(id(node))
        if declared is not None and declared.min_size:
            return self.capped(self.declared_size(declared))
        if _is_scalar(node.type):
            return ONE
        made = isinstance(node, Call) and node.function not in ("_[_]", "_[?_]", "_?._")
        return self.capped(UNKNOWN, growth=_GROWTH if made else 1)

    def declared_size(self, declared: Type) -> Range:
        """What a declaration says; Kubernetes counts keys and objects as nothing."""
        if self.cap is not None and not declared.max_elements and not _is_scalar(declared):
            return UNKNOWN
        return Range(0, declared.max_elements)

    def capped(self, size: Range, growth: int = 1) -> Range:
        """No larger than the data, or than what a function may make of it."""
        if self.cap is None:
            return size
        most = self.cap * growth
        return Range(min(size.min, most), min(size.max, most))

    def exact(self, node: Expr) -> Range | None:
        if (computed := self.sizes.get(id(node))) is not None:
            return computed
        match node:
            case Literal_():
                amount = len(node.value) if isinstance(node.value, str | bytes) else 1
            case ListExpr():
                amount = len(node.elements)
            case MapExpr():
                amount = len(node.entries)
            case _:
                return None
        return Range(amount, amount)

    def element_size(self, node: Expr) -> tuple[Type | None, Range]:
        """Type and size of a list's elements; without a type it is no list."""
        if not node.type.params:
            return None, UNKNOWN
        declared = self.known.get(id(node))
        element = declared.params[0] if declared is not None and declared.params else None
        if element is not None and element.min_size:
            return node.type.params[0], self.capped(self.declared_size(element))
        return node.type.params[0], self.capped(UNKNOWN)

    # nodes

    def select(self, node: Select) -> Range:
        if node.ident is not None:
            self.known[id(node)] = self.root
            return ONE
        cost = self.visit(node.operand)
        if node.test:
            return cost
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT):
            cost = cost.plus(ONE)
        declared = self.known.get(id(node.operand))
        if declared is not None and declared.kind is Kind.STRUCT and node.field in declared.fields:
            self.known[id(node)] = declared.fields[node.field].type
        return cost

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.visit(node.args[0])
            if (size := self.exact(node.args[0])) is not None:
                self.sizes[id(node)] = size
            return cost.plus(ONE)
        costs = [self.visit(part) for part in node.args]
        target = self.visit(node.target) if node.target is not None else ZERO
        whole: Range | None = None
        result: Range | None = None
        for overload in node.overloads:
            cost, size = self.overload(node, overload, costs)
            whole = cost if whole is None else whole.union(cost)
            if size is not None:
                result = size if result is None else result.union(size)
            self.follow(node, overload)
        if result is not None:
            self.sizes[id(node)] = result
        return target.plus(whole if whole is not None else ZERO)

    def follow(self, node: Call, overload: str) -> None:
        """An index leads to the declaration of the elements."""
        if overload not in ("index_list", "index_map"):
            return
        declared = self.known.get(id(node.args[0]))
        if declared is not None and declared.params:
            self.known[id(node)] = declared.params[-1]

    def overload(
        self, node: Call, overload: str, costs: Sequence[Range]
    ) -> tuple[Range, Range | None]:
        """The cost of a call with its arguments, and the size of its result."""
        sum_ = ZERO
        for part in costs:
            sum_ = sum_.plus(part)
        if (special := self.kubernetes(node, overload)) is not None:
            return special[0].plus(sum_), special[1]
        args = node.args
        match overload:
            case "logical_or" | "logical_and":
                return Range(costs[0].min, costs[0].plus(costs[1]).max), None
            case "conditional":
                size = self.size(args[1]).union(self.size(args[2]))
                return costs[0].plus(costs[1].union(costs[2])), size
            case "starts_with_string" | "ends_with_string":
                return self.size(args[0]).scaled(STRING_FACTOR).plus(sum_), None
            case "in_list":
                return self.size(args[1]).scaled(1).plus(sum_), None
            case "string_to_bytes":
                size = self.size(args[0])
                grown = Range(size.min, min(size.max * 4, MAX))
                return size.scaled(STRING_FACTOR).plus(sum_), grown
            case "bytes_to_string":
                size = self.size(args[0])
                return size.scaled(STRING_FACTOR).plus(sum_), Range(size.min // 4, size.max)
            case "strings_quote":
                size = self.size(args[0])
                grown = Range(size.min + 2, min(size.max * 2 + 2, MAX))
                return size.scaled(STRING_FACTOR).plus(sum_), grown
            case "string_format" if node.target is not None:
                return self.size(node.target).scaled(STRING_FACTOR).plus(sum_), None
            case "matches_string" if node.target is not None:
                return self.pattern(node.target, args[0]).plus(sum_), None
            case "contains_string" if node.target is not None:
                text = self.size(node.target).scaled(STRING_FACTOR)
                part = self.size(args[0]).scaled(STRING_FACTOR)
                return text.times(part).plus(sum_), None
            case "add_string" | "add_bytes":
                size = self.size(args[0]).plus(self.size(args[1]))
                return size.scaled(STRING_FACTOR).plus(sum_), size
            case "add_list":
                return sum_.plus(ONE), self.size(args[0]).plus(self.size(args[1]))
        if overload == "equals" and _compares_in_one_step(args[0].type, args[1].type):
            return sum_.plus(ONE), None
        if overload.startswith("list_sets_"):
            product = self.size(args[0]).times(self.size(args[1]))
            twice = overload == "list_sets_equivalent_list"
            work = product.plus(product) if twice else product
            return work.plus(ONE).plus(sum_), None
        if (listed := self.list_call(node, overload)) is not None:
            return listed[0].plus(sum_), listed[1]
        if overload in BY_SIZE:
            smaller = min(self.size(args[0]).max, self.size(args[1]).max)
            bound = Range(1 if smaller else 0, smaller).scaled(STRING_FACTOR)
            return bound.plus(sum_), None
        return sum_.plus(ONE), None

    def list_call(self, node: Call, overload: str) -> tuple[Range, Range] | None:
        """Functions that make a list: its size, and what filling it takes."""
        made = Range(LIST_COST + 1, LIST_COST + 1)
        if overload == "lists_range":
            size = _constant_size(node.args[0])
            return made.plus(size), size
        if node.target is None:
            return None
        size = self.size(node.target)
        if overload in ("list_reverse", "list_flatten", "list_flatten_int", "list_slice"):
            return made.plus(size), size
        if overload == "list_distinct" or overload.endswith(("_sort", "_sortByAssociatedKeys")):
            square = size.times(size)
            texts = "_string_" in overload or "_bytes_" in overload
            return made.plus(square.scaled(2 + STRING_FACTOR * texts)), square
        return None

    def pattern(self, text: Expr, pattern: Expr) -> Range:
        traversal = self.size(text).plus(ONE).scaled(STRING_FACTOR)
        return traversal.times(self.size(pattern).scaled(REGEX_FACTOR))

    def kubernetes(self, node: Call, overload: str) -> tuple[Range, Range | None] | None:
        """Kubernetes' own functions."""
        function, args, target = node.function, node.args, node.target
        if function in NOMINAL or overload == "cidr_ip":
            return ONE, None
        if function in PARSERS and args:
            size = self.size(args[0])
            return size.scaled(STRING_FACTOR), size if function == "url" else None
        if function == "check":
            return Range(350_000, 350_000), None
        if function == "ip.isCanonical":
            return self.size(args[0]).scaled(2 * STRING_FACTOR), None
        if function in ("fieldSelector", "labelSelector"):
            return selector_cost(self.size(args[0])), None
        if function in ("containsIP", "containsCIDR"):
            return self.contains_address(node, overload), None
        if function == "validate":
            size = self.size(args[0])
            return size.scaled(STRING_FACTOR).scaled(128 * REGEX_FACTOR), None
        if target is None:
            return None
        if function in SEARCHES:
            return self.search(target), None
        if function in ("lowerAscii", "upperAscii", "substring", "trim"):
            size = self.size(target)
            return size.scaled(STRING_FACTOR), size
        if function == "replace":
            size = self.size(target)
            grown = self.replaced(size, self.size(args[0]), self.size(args[1]))
            return size.scaled(2 * STRING_FACTOR), grown
        if function == "split":
            return self.split(target, args)
        if function == "join":
            size = self.joined(target, args)
            return size.scaled(STRING_FACTOR), size
        if function in ("find", "findAll"):
            return self.pattern(target, args[0]), Range(0, self.size(target).max)
        return None

    def search(self, target: Expr) -> Range:
        element, size = self.element_size(target)
        if element is None:
            return self.size(target).scaled(STRING_FACTOR)
        each = ONE
        if element.kind in (Kind.STRING, Kind.BYTES):
            each = each.plus(size.scaled(STRING_FACTOR))
        return self.size(target).times(each)

    def split(self, target: Expr, args: Sequence[Expr]) -> tuple[Range, Range]:
        size = self.size(target)
        most = size.max
        if len(args) > 1 and isinstance(args[1], Literal_) and isinstance(args[1].value, int):
            most = args[1].value if args[1].value >= 0 else MAX
        return size.scaled(2 * STRING_FACTOR), Range(0, most)

    def joined(self, target: Expr, args: Sequence[Expr]) -> Range:
        count = self.size(target)
        element, each = self.element_size(target)
        size = count.times(each) if element is not None else ZERO
        if args:
            between = Range(max(count.min - 1, 0), max(count.max - 1, 0))
            size = size.plus(self.size(args[0]).times(between))
        return size

    @staticmethod
    def replaced(size: Range, old: Range, new: Range) -> Range:
        """The size of a text after replacements: fewest and most, shortest and longest."""
        if old.min == 0:
            most, kept_max = min(size.max + 1, MAX), size.max
        elif new.max <= old.min:
            most, kept_max = 0, size.max
        else:
            most, kept_max = math.ceil(size.max / old.min), 0
        if old.max == 0:
            fewest, kept_min = min(size.min + 1, MAX), size.min
        elif old.max <= new.min:
            fewest, kept_min = 0, size.min
        else:
            fewest, kept_min = math.ceil(size.min / old.max), 0
        return Range(fewest, most).times(new).plus(Range(kept_min, kept_max))

    def contains_address(self, node: Call, overload: str) -> Range:
        size = Range(4, 16)
        cost = size.plus(size).scaled(STRING_FACTOR)
        if node.function == "containsCIDR":
            cost = cost.plus(size.scaled(STRING_FACTOR)).plus(ONE)
        if overload.endswith("_string"):
            cost = cost.plus(self.size(node.args[0]).scaled(STRING_FACTOR))
        return cost

    # macros

    def comprehension(self, node: Comprehension) -> Range:
        cost = self.visit(node.range)
        declared = self.known.get(id(node.range))
        self.scope.append(_variables(node, declared if declared is not None else self.root,
                                     whole=declared is None))  # fmt: skip
        condition = self.visit(node.condition) if node.condition is not None else ZERO
        step = self.visit(node.step) if node.step is not None else ZERO
        self.scope.pop()
        before, each, after = _shape(node, condition, step)
        count = self.size(node.range)
        if node.kind not in ("all", "exists", "exists_one"):
            self.sizes[id(node)] = count
        else:
            self.sizes[id(node)] = ONE
        return cost.plus(before).plus(after).plus(count.times(each))

    def optional_map(self, node: OptionalMap) -> Range:
        target = self.visit(node.target)
        self.scope.append({node.var: None})
        body = self.visit(node.body)
        self.scope.pop()
        bound = target.plus(body).plus(Range(LIST_COST + 1, LIST_COST + 1))
        present = bound if node.flat else bound.plus(ONE)
        return target.plus(ONE).plus(present.union(ONE))


def _variables(
    node: Comprehension, declared: Type | None, *, whole: bool
) -> dict[str, Type | None]:
    """What the variables lead to; over a computed range that is the root itself."""
    if whole:
        return {name: declared for name in (node.var, node.var2) if name}
    params = declared.params if declared is not None and declared.min_size else ()
    is_map = node.range.type.kind is Kind.MAP
    key = params[0] if params and is_map else None
    element = params[-1] if params else None
    if node.var2:
        return {node.var: key, node.var2: element}
    return {node.var: key if is_map else element}


def _shape(node: Comprehension, condition: Range, step: Range) -> tuple[Range, Range, Range]:
    """Cost before the loop, of one round, and after it."""
    one, made = ONE, Range(LIST_COST, LIST_COST)
    match node.kind:
        case "all":
            return ZERO, Range(3, min(3 + condition.max, MAX)), one
        case "exists":
            return ZERO, Range(4, min(4 + condition.max, MAX)), one
        case "exists_one":
            return ZERO, condition.plus(Range(1, 2)), Range(2, 2)
        case "map" | "transform_list" | "filter":
            body = step.plus(Range(2 + LIST_COST, 2 + LIST_COST))
            if node.kind == "filter":
                body = Range(3 + LIST_COST, 3 + LIST_COST)
        case _:
            made = Range(MAP_COST, MAP_COST)
            body = step.plus(Range(3, 3) if node.kind == "transform_map" else Range(2, 2))
    if node.condition is not None:
        body = condition.plus(body.union(one))
    return made, body, one


def _constant_size(node: Expr) -> Range:
    if isinstance(node, Literal_) and isinstance(node.value, int):
        return Range(max(node.value, 0), max(node.value, 0))
    return UNKNOWN


def _is_scalar(type_: Type) -> bool:
    if is_optional(type_):
        return _is_scalar(type_.params[0])
    return type_.kind in SCALARS


def _compares_in_one_step(left: Type, right: Type) -> bool:
    return left.name in UNIT_EQUALITY and left == right
