"""Types for every node, or the reasons there are none, in cel-go's words."""

from collections.abc import Mapping, Sequence
from itertools import repeat

from quarterdeck.cel.checking.declarations import Overload, functions
from quarterdeck.cel.checking.unify import Mapping_, assignable, most_general, substitute
from quarterdeck.cel.errors import CompileError, Issue
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
from quarterdeck.cel.syntax.stream import locate
from quarterdeck.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NAMED_TYPES,
    Kind,
    Type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)


def check(source: str, tree: Expr, variables: Mapping[str, Type]) -> None:
    """Give every node its type.

    Raises:
        CompileError: with every issue found.
    """
    checker = _Checker(source, variables)
    try:
        checker.visit(tree)
    except RecursionError:
        checker.report(0, "expression recursion limit exceeded")
    if checker.issues:
        raise CompileError(source, checker.issues)
    checker.settle()


class _Checker:
    def __init__(self, source: str, variables: Mapping[str, Type]) -> None:
        self.source = source
        self.scopes: list[Mapping[str, Type]] = [variables]
        self.functions = functions()
        self.bound: Mapping_ = {}
        self.fresh = 0
        self.issues: list[Issue] = []
        self.seen: list[Expr] = []
        self.mixed_allowed = False
        """Inside the arguments of `format`, whose list may hold anything."""

    def report(self, pos: int, message: str) -> Type:
        self.issues.append(Issue(*locate(self.source, pos), message))
        return ERROR

    def settle(self) -> None:
        for node in self.seen:
            node.type = substitute(self.bound, node.type, final=True)
            if isinstance(node, Call) and node.function in ("_+_", "_?_:_"):
                node.type = _with_list_semantics(node)

    def visit(self, node: Expr) -> Type:
        match node:
            case Literal_():
                result = node.type
            case Ident():
                result = self.ident(node)
            case Select():
                result = self.select(node)
            case Call():
                result = self.call(node)
            case ListExpr():
                result = self.list_literal(node)
            case MapExpr():
                result = self.map_literal(node)
            case MessageExpr():
                result = self.message(node)
            case Comprehension():
                result = self.comprehension(node)
            case OptionalMap():
                result = self.optional_map(node)
            case _:
                raise TypeError(f"unknown node {type(node).__name__}")
        node.type = result
        self.seen.append(node)
        return result

    # names

    def lookup(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if (found := scope.get(name)) is not None:
                return found
        return None

    def ident(self, node: Ident) -> Type:
        if (found := self.lookup(node.name)) is not None:
            return found
        if (named := NAMED_TYPES.get(node.name)) is not None:
            node.type_value = named
            return type_of(named)
        return self.report(node.pos, f"undeclared reference to '{node.name}' (in container '')")

    def select(self, node: Select) -> Type:
        if not node.test and (name := _qualified(node)) and name in NAMED_TYPES:
            node.ident = Ident(node.pos, name)
            node.ident.type_value = NAMED_TYPES[name]
            return type_of(NAMED_TYPES[name])
        operand = self.visit(node.operand)
        result = self.field(node, substitute(self.bound, operand), node.pos)
        return BOOL if node.test else substitute(self.bound, result)

    def field(self, node: Select, operand: Type, pos: int) -> Type:
        if is_optional(operand):
            inner = self.field(node, substitute(self.bound, operand.params[0]), pos)
            return inner if is_optional(inner) else optional_of(inner)
        match operand.kind:
            case Kind.MAP:
                return operand.params[1]
            case Kind.STRUCT:
                if (member := operand.fields.get(node.field)) is None:
                    return self.report(pos, f"undefined field '{node.field}'")
                node.member = member.name
                return member.type
            case Kind.PARAM:
                assignable(self.bound, operand, DYN)
                return DYN
            case Kind.DYN | Kind.ERROR:
                return DYN
        return self.report(pos, f"type '{operand}' does not support field selection")

    # calls

    def call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self.optional_select(node)
        name = node.function
        if node.target is not None and (prefix := _qualified(node.target)):
            qualified = f"{prefix}.{name}"
            if qualified in self.functions:
                node.function, node.target = qualified, None
                return self.resolve(node, self.functions[qualified])
        overloads = self.functions.get(name)
        if node.target is not None:
            self.visit(node.target)
        if overloads is None:
            for argument in node.args:
                self.visit(argument)
            return self.report(node.pos, f"undeclared reference to '{name}' (in container '')")
        return self.resolve(node, overloads)

    def resolve(self, node: Call, overloads: Sequence[Overload]) -> Type:
        given = [node.target.type] if node.target is not None else []
        given += self.arguments(node)
        member = node.target is not None
        result: Type | None = None
        matching: list[str] = []
        for overload in overloads:
            if overload.member != member or len(overload.params) != len(given):
                continue
            if not all(map(_may_fit, given, overload.params)):
                continue
            params, returns = self.instantiate(overload)
            attempt = dict(self.bound)
            if not all(map(assignable, repeat(attempt), given, params)):
                continue
            self.bound = attempt
            matching.append(overload.id)
            returned = substitute(self.bound, returns)
            if result is None:
                result = returned
            elif not is_dyn(result) and result != returned:
                result = DYN
        if result is None:
            return self.no_overload(node, given)
        node.overloads = tuple(matching)
        self.validate_literals(node)
        return result

    def arguments(self, node: Call) -> list[Type]:
        before = self.mixed_allowed
        self.mixed_allowed = before or (node.function == "format" and node.target is not None)
        given = [self.visit(argument) for argument in node.args]
        self.mixed_allowed = before
        return given

    def no_overload(self, node: Call, given: list[Type]) -> Type:
        shown = [str(substitute(self.bound, part, final=True)) for part in given]
        if node.target is not None:
            signature = f"{shown[0]}.({', '.join(shown[1:])})"
        else:
            signature = f"({', '.join(shown)})"
        return self.report(
            node.pos, f"found no matching overload for '{node.function}' applied to '{signature}'"
        )

    def instantiate(self, overload: Overload) -> tuple[Sequence[Type], Type]:
        if not overload.generic:
            return overload.params, overload.result
        fresh: Mapping_ = {}
        params = [self.renew(part, fresh) for part in overload.params]
        return params, self.renew(overload.result, fresh)

    def renew(self, type_: Type, fresh: Mapping_) -> Type:
        if type_.kind is Kind.PARAM:
            if type_ not in fresh:
                fresh[type_] = self.variable()
            return fresh[type_]
        if not type_.params:
            return type_
        parts = tuple(self.renew(part, fresh) for part in type_.params)
        return Type(type_.kind, type_.name, parts)

    def variable(self) -> Type:
        self.fresh += 1
        return param(f"_var{self.fresh - 1}")

    def validate_literals(self, node: Call) -> None:
        """Constants that could never work are refused now."""
        if node.function not in ("duration", "timestamp", "matches"):
            return
        argument = node.args[-1]
        if not isinstance(argument, Literal_):
            return
        from quarterdeck.cel.library import constants

        if not constants.valid(node.function, argument.value):
            self.report(argument.pos, f"invalid {node.function} argument")

    def optional_select(self, node: Call) -> Type:
        operand = substitute(self.bound, self.visit(node.args[0]))
        field = node.args[1]
        self.visit(field)
        assert isinstance(field, Literal_)
        select = Select(node.pos, node.args[0], str(field.value))
        inner = operand.params[0] if is_optional(operand) else operand
        result = self.field(select, substitute(self.bound, inner), node.pos)
        field.value = select.member
        node.overloads = ("select_optional_field",)
        result = substitute(self.bound, result)
        return result if is_optional(result) or result is ERROR else optional_of(result)

    # literals

    def list_literal(self, node: ListExpr) -> Type:
        element: Type | None = None
        for index, part in enumerate(node.elements):
            given = self.visit(part)
            if index in node.optional:
                given = self.unwrap(part, given)
            element = self.join(part.pos, element, given)
        return list_of(element if element is not None else self.variable())

    def map_literal(self, node: MapExpr) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.join(entry.key.pos, key, self.visit(entry.key))
            given = self.visit(entry.value)
            if entry.optional:
                given = self.unwrap(entry.value, given)
            value = self.join(entry.value.pos, value, given)
        if key is None or value is None:
            return map_of(self.variable(), self.variable())
        return map_of(key, value)

    def unwrap(self, node: Expr, given: Type) -> Type:
        given = substitute(self.bound, given)
        if is_optional(given):
            return given.params[0]
        if not is_dyn(given):
            self.report(node.pos, f"expected type '{optional_of(given)}' but found '{given}'")
        return DYN

    def join(self, pos: int, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        attempt = dict(self.bound)
        if assignable(attempt, previous, current):
            self.bound = attempt
            return most_general(substitute(self.bound, previous), substitute(self.bound, current))
        if not self.mixed_allowed:
            shown = [substitute(self.bound, part, final=True) for part in (previous, current)]
            self.report(pos, f"expected type '{shown[0]}' but found '{shown[1]}'")
        return DYN

    def message(self, node: MessageExpr) -> Type:
        for entry in node.entries:
            self.visit(entry.value)
        name = node.name.removeprefix(".")
        if name in NAMED_TYPES:
            return self.report(node.pos, f"'{name}' is not a message type")
        return self.report(node.pos, f"undeclared reference to '{name}' (in container '')")

    # macros

    def comprehension(self, node: Comprehension) -> Type:
        range_type = substitute(self.bound, self.visit(node.range))
        key, element = self.range_of(node, range_type)
        scope = {node.var: key, node.var2: element} if node.var2 else {node.var: element}
        if not node.var2 and range_type.kind is Kind.MAP:
            scope = {node.var: key}
        self.scopes.append(scope)
        if node.condition is not None:
            self.require_bool(node.condition)
        step = self.visit(node.step) if node.step is not None else None
        self.scopes.pop()
        match node.kind:
            case "all" | "exists" | "exists_one":
                return BOOL
            case "filter":
                return list_of(scope[node.var])
            case "map" | "transform_list":
                return list_of(step if step is not None else DYN)
            case "transform_map":
                return map_of(key, step if step is not None else DYN)
            case "transform_map_entry":
                return step if step is not None and step.kind is Kind.MAP else map_of(DYN, DYN)

    def range_of(self, node: Comprehension, range_type: Type) -> tuple[Type, Type]:
        match range_type.kind:
            case Kind.LIST:
                return INT, range_type.params[0]
            case Kind.MAP:
                return range_type.params[0], range_type.params[1]
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                return DYN, DYN
        self.report(
            node.range.pos,
            f"expression of type '{range_type}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR, ERROR

    def require_bool(self, node: Expr) -> None:
        given = self.visit(node)
        if not assignable(self.bound, given, BOOL):
            shown = substitute(self.bound, given, final=True)
            self.report(node.pos, f"expected type 'bool' but found '{shown}'")

    def optional_map(self, node: OptionalMap) -> Type:
        target = substitute(self.bound, self.visit(node.target))
        if is_optional(target):
            inner = target.params[0]
        elif is_dyn(target):
            inner = DYN
        else:
            self.report(
                node.pos,
                f"found no matching overload for 'hasValue' applied to '{target}.()'",
            )
            inner = ERROR
        self.scopes.append({node.var: inner})
        body = substitute(self.bound, self.visit(node.body))
        self.scopes.pop()
        if not node.flat:
            return optional_of(body)
        if is_optional(body) or is_dyn(body):
            return body
        return self.report(
            node.pos,
            "found no matching overload for '_?_:_' applied to "
            f"'(bool, {body}, optional_type({body}))'",
        )


_OPEN = frozenset({Kind.PARAM, Kind.DYN, Kind.ERROR, Kind.NULL})


def _may_fit(given: Type, wanted: Type) -> bool:
    """A quick look that spares most overloads the full comparison."""
    return given.kind is wanted.kind or given.kind in _OPEN or wanted.kind in _OPEN


def _with_list_semantics(node: Call) -> Type:
    """The type of a sum or choice of lists: it behaves as the lists it was made of do."""
    special = next((part.type for part in node.args if part.type.special), None)
    return special if special is not None and special == node.type else node.type


def _qualified(node: Expr) -> str:
    """`a.b.c` when the node is a chain of names, else nothing."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(parts)])
