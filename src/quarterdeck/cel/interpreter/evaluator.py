"""The meaning of an expression, step by step, with its cost.

This is the reference: compiled code is fast and optimistic, and whenever it stumbles the
interpreter says what the answer, the error, or the price really is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from quarterdeck.cel.adapt import converter, leaf, needs_whole
from quarterdeck.cel.cost.charges import actual
from quarterdeck.cel.errors import BudgetExceeded, EvaluationError
from quarterdeck.cel.operations.classes import class_of, no_overload
from quarterdeck.cel.operations.containers import has, select
from quarterdeck.cel.operations.dispatch import dispatcher
from quarterdeck.cel.shapes import is_constant, is_path
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
from quarterdeck.cel.types import Kind, Type, is_optional
from quarterdeck.cel.values import NONE, Duration, Optional, UInt, some

_PATHS = frozenset({"_[_]", "_[?_]", "_?._", "size"})
"""Functions that look into a container rather than at it as a whole."""


class Meter:
    """Counts what an evaluation costs, and ends it at the limit."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int | None = None) -> None:
        self.cost = 0
        self.limit = limit

    def charge(self, amount: int) -> None:
        """Spend.

        Raises:
            BudgetExceeded: beyond the limit.
        """
        self.cost += amount
        if self.limit is not None and self.cost > self.limit:
            raise BudgetExceeded


def interpret(tree: Expr, variables: Mapping[str, Any], meter: Meter | None = None) -> Any:
    """The value of an expression.

    Raises:
        EvaluationError: when it has none.
        BudgetExceeded: when finding out costs more than the meter allows.
    """
    try:
        return _Interpreter(variables, meter if meter is not None else Meter()).whole(tree)
    except RecursionError:
        raise EvaluationError("expression nests too deep to evaluate") from None


class _Interpreter:
    def __init__(self, variables: Mapping[str, Any], meter: Meter) -> None:
        self.scope = dict(variables)
        self.meter = meter
        self.charge: Callable[[int], None] = meter.charge

    def whole(self, node: Expr) -> Any:
        """A value to compare, add or hand on: containers are converted through and through."""
        value = self.visit(node)
        return converter(node.type)(value) if needs_whole(node.type) else value

    def visit(self, node: Expr) -> Any:
        """A value to look into; scalars are converted already."""
        match node:
            case Literal_():
                return node.value
            case ListExpr() | MapExpr() | Call() if is_constant(node):
                return self.free(node)
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call() | ListExpr() | MapExpr():
                return self.composite(node)
            case Comprehension():
                return self.comprehension(node)
            case OptionalMap():
                return self.optional_map(node)
        raise TypeError(f"unknown node {type(node).__name__}")

    def free(self, node: ListExpr | MapExpr | Call) -> Any:
        """A constant: computed beforehand by any sensible implementation, so not charged for."""
        meter, self.charge = self.charge, _no_charge
        try:
            return self.composite(node)
        finally:
            self.charge = meter

    def composite(self, node: ListExpr | MapExpr | Call) -> Any:
        match node:
            case ListExpr():
                return self.list_literal(node)
            case MapExpr():
                return self.map_literal(node)
            case Call():
                return self.call(node)

    def ident(self, node: Ident) -> Any:
        if node.type_value is not None:
            return node.type_value
        self.charge(1)
        if node.name not in self.scope:
            raise EvaluationError(f"no such attribute(s): {node.name}")
        return _scalar(node.type, self.scope[node.name])

    def select(self, node: Select) -> Any:
        if node.ident is not None:
            return node.ident.type_value
        operand = self.visit(node.operand)
        if isinstance(operand, dict) and node.operand.type.kind is Kind.STRUCT:
            value = operand.get(node.member)
            if node.test:
                return value is not None
            self.charge(1)
            if value is None:
                raise EvaluationError(f"no such key: {node.field}")
            return _scalar(node.type, value)
        if node.test:
            return has(operand, node.member)
        self.charge(1)
        found = select(operand, node.member)
        if isinstance(found, Optional) and _is_struct(node.operand.type) and found.value is None:
            return NONE
        return _settled(node.type, found)

    # calls

    def call(self, node: Call) -> Any:
        match node.function:
            case "_&&_":
                return self.logical(node, decisive=False)
            case "_||_":
                return self.logical(node, decisive=True)
            case "_?_:_":
                condition = self.visit(node.args[0])
                if type(condition) is not bool:
                    raise no_overload()
                branch = node.args[1] if condition else node.args[2]
                if is_path(branch):
                    self.charge(-1)
                return self.visit(branch)
            case "!_":
                value = self.visit(node.args[0])
                if type(value) is not bool:
                    raise no_overload()
                self.charge(1)
                return not value
            case "or" | "orValue" if node.target is not None:
                return self.fallback(node, node.target)
        return self.function(node)

    def function(self, node: Call) -> Any:
        looks_into = node.function in _PATHS
        try:
            args = self.arguments(node, looks_into=looks_into)
        except BudgetExceeded:
            raise
        except EvaluationError:
            self.charge(1)
            raise
        try:
            result = dispatcher(node.function)(*args)
        except (TypeError, AttributeError, KeyError):
            raise no_overload() from None
        if node.function == "sum" and not args[0]:
            result = _ZEROS.get(node.type.kind, 0)
        if not self.is_free(node, result):
            self.charge(actual(node.function, args, result))
        if node.function == "_?._" and _is_struct(node.args[0].type) and result.value is None:
            return NONE
        return _settled(node.type, result) if looks_into else result

    def arguments(self, node: Call, *, looks_into: bool) -> list[Any]:
        args: list[Any] = []
        for at, part in enumerate(node.operands):
            if at == 1 and node.function == "_[_]" and is_path(part):
                args.append(self.unpaid(part))
            elif at == 0 and node.function == "@sortByAssociatedKeys":
                args.append(self.unpaid(part))
                self.charge(2)
            elif at == 0 and looks_into:
                args.append(self.visit(part))
            else:
                args.append(self.whole(part))
        return args

    def unpaid(self, node: Expr) -> Any:
        meter, self.charge = self.charge, _no_charge
        try:
            return self.whole(node)
        finally:
            self.charge = meter

    @staticmethod
    def is_free(node: Call, result: Any) -> bool:
        """Looking up a constant set costs nothing, nor does finding nothing."""
        if node.function == "@in":
            container = node.args[1]
            return isinstance(container, ListExpr) and is_constant(container)
        return node.function == "_?._" and isinstance(result, Optional) and not result.present

    def logical(self, node: Call, *, decisive: bool) -> bool:
        """And and or: an error on one side is forgotten if the other side decides."""
        problem: EvaluationError | None = None
        for part in node.args:
            try:
                value = self.visit(part)
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                problem = problem or error
                continue
            if type(value) is not bool:
                problem = problem or no_overload()
            elif value is decisive:
                return decisive
        if problem is not None:
            raise problem
        return not decisive

    def fallback(self, node: Call, target: Expr) -> Any:
        optional = self.visit(target)
        if not isinstance(optional, Optional):
            raise no_overload()
        if optional.present:
            return optional if node.function == "or" else optional.value
        other = self.visit(node.args[0])
        if node.function == "or" and not isinstance(other, Optional):
            raise no_overload()
        return other

    # literals

    def list_literal(self, node: ListExpr) -> list[Any]:
        items: list[Any] = []
        for at, part in enumerate(node.elements):
            value = self.whole(part)
            if at not in node.optional:
                items.append(value)
            elif not isinstance(value, Optional):
                raise EvaluationError("cannot initialize optional list element from non-optional "
                                      f"value {value}")  # fmt: skip
            elif value.present:
                items.append(value.value)
        self.charge(10)
        return items

    def map_literal(self, node: MapExpr) -> dict[Any, Any]:
        items: dict[Any, Any] = {}
        for entry in node.entries:
            key, value = self.whole(entry.key), self.whole(entry.value)
            if type(key) in (float, type(None)) or class_of(key) in (list, dict):
                raise EvaluationError("unsupported key type")
            if entry.optional:
                if not isinstance(value, Optional):
                    raise EvaluationError("cannot initialize optional entry from non-optional "
                                          f"value {value}")  # fmt: skip
                if not value.present:
                    continue
                value = value.value
            if key in items:
                raise EvaluationError("Failed with repeated key")
            items[key] = value
        self.charge(30)
        return items

    # macros

    def comprehension(self, node: Comprehension) -> Any:
        range_ = self.visit(node.range)
        pairs = self.pairs(node, range_)
        saved = {name: self.scope.get(name, _ABSENT) for name in (node.var, node.var2) if name}
        try:
            match node.kind:
                case "all":
                    return self.quantify(node, pairs, decisive=False)
                case "exists":
                    return self.quantify(node, pairs, decisive=True)
                case "exists_one":
                    return self.exists_one(node, pairs)
                case "filter" | "map" | "transform_list":
                    return self.transform(node, pairs)
                case _:
                    return self.transform_map(node, pairs)
        finally:
            for name, value in saved.items():
                if value is _ABSENT:
                    self.scope.pop(name, None)
                else:
                    self.scope[name] = value

    def pairs(self, node: Comprehension, range_: Any) -> Sequence[tuple[Any, Any]]:
        """Index or key, and element, of what is walked."""
        if class_of(range_) is dict:
            value_type = node.range.type.params[1] if node.range.type.params else None
            return _MapPairs((key, _maybe(value_type, value)) for key, value in range_.items())
        if class_of(range_) is not list:
            raise no_overload()
        element = node.range.type.params[0] if node.range.type.params else None
        return [(at, _maybe(element, value)) for at, value in enumerate(range_)]

    def bind(self, node: Comprehension, pair: tuple[Any, Any], *, is_map: bool) -> Any:
        if node.var2:
            self.scope[node.var], self.scope[node.var2] = pair
            return pair
        value = pair[0] if is_map else pair[1]
        self.scope[node.var] = value
        return value

    def each(self, node: Comprehension, pairs: Sequence[tuple[Any, Any]]) -> Iterable[Any]:
        is_map = isinstance(pairs, _MapPairs)
        for pair in pairs:
            yield self.bind(node, pair, is_map=is_map)

    def predicate(self, node: Expr) -> bool:
        value = self.visit(node)
        if type(value) is not bool:
            raise no_overload()
        return value

    def quantify(
        self, node: Comprehension, pairs: Sequence[tuple[Any, Any]], *, decisive: bool
    ) -> bool:
        assert node.condition is not None
        problem: EvaluationError | None = None
        going_on = 3 if decisive else 2
        left = len(pairs)
        for _ in self.each(node, pairs):
            left -= 1
            self.charge(going_on + 1)
            try:
                if self.predicate(node.condition) is decisive:
                    self.charge(going_on + 1 if left else 1)
                    return decisive
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                problem = problem or error
        self.charge(1)
        if problem is not None:
            raise problem
        return not decisive

    def exists_one(self, node: Comprehension, pairs: Sequence[tuple[Any, Any]]) -> bool:
        assert node.condition is not None
        count = 0
        for _ in self.each(node, pairs):
            if self.predicate(node.condition):
                self.charge(2)
                count += 1
        self.charge(2)
        return count == 1

    def transform(self, node: Comprehension, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        results: list[Any] = []
        for value in self.each(node, pairs):
            if node.condition is not None and not self.predicate(node.condition):
                continue
            self.charge(12 if node.step is not None else 13)
            results.append(self.whole(node.step) if node.step is not None else value)
        self.charge(1)
        return results

    def transform_map(
        self, node: Comprehension, pairs: Sequence[tuple[Any, Any]]
    ) -> dict[Any, Any]:
        assert node.step is not None
        results: dict[Any, Any] = {}
        for key, _ in self.each(node, pairs):
            if node.condition is not None and not self.predicate(node.condition):
                continue
            value = self.whole(node.step)
            self.charge(3 if node.kind == "transform_map" else 2)
            fresh = {key: value} if node.kind == "transform_map" else value
            if class_of(fresh) is not dict:
                raise no_overload()
            for name, item in fresh.items():
                if name in results:
                    raise EvaluationError(f"insert failed: key {name} already exists")
                results[name] = item
        self.charge(1)
        return results

    def optional_map(self, node: OptionalMap) -> Optional:
        before = self.meter.cost
        target = self.visit(node.target)
        if not isinstance(target, Optional):
            raise no_overload()
        self.charge(2)
        if not target.present:
            return NONE
        again = self.meter.cost - before - 2
        self.charge(again + (0 if node.flat else 1))
        saved = self.scope.get(node.var, _ABSENT)
        self.scope[node.var] = target.value
        try:
            value = self.whole(node.body)
        finally:
            if saved is _ABSENT:
                self.scope.pop(node.var, None)
            else:
                self.scope[node.var] = saved
        if not node.flat:
            return some(value)
        if not isinstance(value, Optional):
            raise no_overload()
        return value


_ABSENT: Any = object()
_ZEROS: Mapping[Kind, Any] = {
    Kind.DURATION: Duration(0),
    Kind.DOUBLE: 0.0,
    Kind.UINT: UInt(0),
}


def _no_charge(amount: int) -> None:
    del amount


def _scalar(type_: Type, value: Any) -> Any:
    convert = leaf(type_)
    return value if convert is None or value is None else _apply(convert, value)


def _is_struct(type_: Type) -> bool:
    """Whether null members count as absent."""
    inner = type_.params[0] if is_optional(type_) else type_
    return inner.kind is Kind.STRUCT


def _settled(type_: Type, value: Any) -> Any:
    """What a look into a container found, converted."""
    if not isinstance(value, Optional):
        return _scalar(type_, value)
    if not value.present or not type_.params:
        return value
    return some(_scalar(type_.params[0], value.value))


def _apply(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError):
        raise no_overload() from None


def _maybe(type_: Type | None, value: Any) -> Any:
    return value if type_ is None else _scalar(type_, value)


class _MapPairs(list[tuple[Any, Any]]):
    """Pairs that came from a map: one variable walks the keys."""

    __slots__ = ()
