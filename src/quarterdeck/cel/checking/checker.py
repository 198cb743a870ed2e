"""Types for every node, or the reasons there are none, in cel-go's words."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quarterdeck.cel.checking import macros, names
from quarterdeck.cel.checking.declarations import is_declared
from quarterdeck.cel.checking.inference import Inference
from quarterdeck.cel.checking.overloads import resolve
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
    NAMED_TYPES,
    Kind,
    Type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
    type_of,
)


class Findings(NamedTuple):
    """What checking learns of an expression besides its types."""

    used: set[str]
    """Variables from outside that it reads."""
    patterns: list[str]
    """Constant patterns that must still prove to be any good."""


def check(source: str, tree: Expr, variables: Mapping[str, Type]) -> Findings:
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
    return checker.findings


class _Checker:
    def __init__(self, source: str, variables: Mapping[str, Type]) -> None:
        self.source = source
        self.variables = variables
        self.scopes: list[Mapping[str, Type]] = []
        """What macros have bound, innermost last."""
        self.inference = Inference()
        self.findings = Findings(set(), [])
        self.issues: list[Issue] = []
        self.seen: list[Expr] = []
        self.mixed_allowed = False
        """Inside the arguments of `format`, whose list may hold anything."""

    def report(self, pos: int, message: str) -> Type:
        self.issues.append(Issue(*locate(self.source, pos), message))
        return ERROR

    def settle(self) -> None:
        for node in self.seen:
            node.type = self.inference.settled(node.type)
            if isinstance(node, Call) and node.function in ("_+_", "_?_:_"):
                node.type = _with_list_semantics(node)

    def visit(self, node: Expr) -> Type:
        node.type = _VISITS[type(node)](self, node)
        self.seen.append(node)
        return node.type

    def constant(self, node: Literal_) -> Type:
        return node.type

    # names

    def ident(self, node: Ident) -> Type:
        name = node.name
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if (found := self.variables.get(name)) is not None:
            self.findings.used.add(name)
            return found
        if (named := NAMED_TYPES.get(name)) is not None:
            node.type_value = named
            return type_of(named)
        return self.report(node.pos, f"undeclared reference to '{name}' (in container '')")

    def select(self, node: Select) -> Type:
        if (named := names.named_type(node)) is not None:
            node.ident = Ident(node.pos, names.qualified(node), type_value=named)
            return type_of(named)
        operand = self.visit(node.operand)
        result = self.field(node, self.inference.known(operand), node.pos)
        return BOOL if node.test else self.inference.known(result)

    def field(self, node: Select, operand: Type, pos: int) -> Type:
        if is_optional(operand):
            inner = self.field(node, self.inference.known(operand.params[0]), pos)
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
                self.inference.fits((operand,), (DYN,))
                return DYN
            case Kind.DYN | Kind.ERROR:
                return DYN
        return self.report(pos, f"type '{operand}' does not support field selection")

    # calls

    def call(self, node: Call) -> Type:
        if node.function == "_?._":
            return self.optional_select(node)
        if node.target is not None:
            qualified = f"{names.qualified(node.target)}.{node.function}"
            if is_declared(qualified):
                node.function, node.target = qualified, None
            else:
                self.visit(node.target)
        arguments = self.arguments(node)
        if not is_declared(node.function):
            return self.report(
                node.pos, f"undeclared reference to '{node.function}' (in container '')"
            )
        target = node.target.type if node.target is not None else None
        found = resolve(self.inference, node.function, target=target, arguments=arguments)
        if found is None:
            return self.no_overload(node, target, arguments)
        node.overloads = found.overloads
        self.judge_constants(node)
        return found.type

    def arguments(self, node: Call) -> list[Type]:
        before = self.mixed_allowed
        self.mixed_allowed = before or (node.function == "format" and node.target is not None)
        given = [self.visit(argument) for argument in node.args]
        self.mixed_allowed = before
        return given

    def no_overload(self, node: Call, target: Type | None, arguments: list[Type]) -> Type:
        signature = f"({', '.join(str(self.inference.settled(part)) for part in arguments)})"
        if target is not None:
            signature = f"{self.inference.settled(target)}.{signature}"
        return self.report(
            node.pos, f"found no matching overload for '{node.function}' applied to '{signature}'"
        )

    def judge_constants(self, node: Call) -> None:
        """Constants that could never work are refused, or noted to be looked at."""
        if node.function not in _JUDGED:
            return
        is_search = node.function in ("find", "findAll")
        argument = node.args[0 if is_search else -1]
        if not isinstance(argument, Literal_):
            return
        if is_search:
            self.findings.patterns.append(str(argument.value))
            return
        from quarterdeck.cel.library import constants

        if not constants.valid(node.function, argument.value):
            self.report(argument.pos, f"invalid {node.function} argument")

    def optional_select(self, node: Call) -> Type:
        operand = self.inference.known(self.visit(node.args[0]))
        field = node.args[1]
        self.visit(field)
        assert isinstance(field, Literal_)
        name = str(field.value)
        select = Select(node.pos, node.args[0], name, name)
        inner = operand.params[0] if is_optional(operand) else operand
        result = self.field(select, self.inference.known(inner), node.pos)
        field.value = select.member
        node.overloads = ("select_optional_field",)
        result = self.inference.known(result)
        return result if is_optional(result) or result is ERROR else optional_of(result)

    # literals

    def list_literal(self, node: ListExpr) -> Type:
        element: Type | None = None
        for index, part in enumerate(node.elements):
            given = self.visit(part)
            if index in node.optional:
                given = self.unwrap(part, given)
            element = self.join(part.pos, element, given)
        return list_of(element if element is not None else self.inference.variable())

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
            return map_of(self.inference.variable(), self.inference.variable())
        return map_of(key, value)

    def unwrap(self, node: Expr, given: Type) -> Type:
        given = self.inference.known(given)
        if is_optional(given):
            return given.params[0]
        if not is_dyn(given):
            self.report(node.pos, f"expected type '{optional_of(given)}' but found '{given}'")
        return DYN

    def join(self, pos: int, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if (joined := self.inference.join(previous, current)) is not None:
            return joined
        if not self.mixed_allowed:
            shown = [self.inference.settled(part) for part in (previous, current)]
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
        range_type = self.inference.known(self.visit(node.range))
        walked = macros.walked(range_type)
        if walked is None:
            self.report(
                node.range.pos,
                f"expression of type '{range_type}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
            walked = macros.Walked(ERROR, ERROR)
        scope = macros.scope(node, range_type, walked)
        self.scopes.append(scope)
        if node.condition is not None:
            self.require_bool(node.condition)
        step = self.visit(node.step) if node.step is not None else DYN
        self.scopes.pop()
        return macros.result(node, scope, walked.key, step)

    def require_bool(self, node: Expr) -> None:
        given = self.visit(node)
        if not self.inference.fits((given,), (BOOL,)):
            shown = self.inference.settled(given)
            self.report(node.pos, f"expected type 'bool' but found '{shown}'")

    def optional_map(self, node: OptionalMap) -> Type:
        target = self.inference.known(self.visit(node.target))
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
        body = self.inference.known(self.visit(node.body))
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


_VISITS: Mapping[type[Expr], Callable[[_Checker, Any], Type]] = {
    Literal_: _Checker.constant,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Call: _Checker.call,
    ListExpr: _Checker.list_literal,
    MapExpr: _Checker.map_literal,
    MessageExpr: _Checker.message,
    Comprehension: _Checker.comprehension,
    OptionalMap: _Checker.optional_map,
}
_JUDGED = frozenset({"duration", "timestamp", "matches", "find", "findAll"})
"""Functions whose constant arguments are looked at before anything runs."""


def _with_list_semantics(node: Call) -> Type:
    """The type of a sum or choice of lists: it behaves as the lists it was made of do."""
    special = next((part.type for part in node.args if part.type.special), None)
    return special if special is not None and special == node.type else node.type
