"""Types of constants, lists, maps and messages."""

from quarterdeck.cel.checker.checker import Checker
from quarterdeck.cel.syntax.ast import Entry, Expr, ListExpr, Literal_, MapExpr, MessageExpr
from quarterdeck.cel.types import (
    DYN,
    NAMED_TYPES,
    Type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
)


def check_constant(checker: Checker, node: Literal_) -> Type:
    """The type of a constant, which the parser has set."""
    return node.type


def check_list(checker: Checker, node: ListExpr) -> Type:
    """Infer the type of a list; its elements are dyn if their types differ."""
    element: Type | None = None
    for at, part in enumerate(node.elements):
        given = _check_element(checker, part, optional=at in node.optional)
        element = _join(checker, element, given)
    return list_of(element if element is not None else checker.inference.create_variable())


def check_map(checker: Checker, node: MapExpr) -> Type:
    """Infer the type of a map; its keys or values are dyn if their types differ."""
    key: Type | None = None
    value: Type | None = None
    for entry in node.entries:
        key = _join(checker, key, checker.visit(entry.key))
        given = _check_element(checker, entry.value, optional=entry.optional)
        value = _join(checker, value, given)
    if key is None or value is None:
        return map_of(checker.inference.create_variable(), checker.inference.create_variable())
    return map_of(key, value)


def _check_element(checker: Checker, node: Expr, *, optional: bool) -> Type:
    """The type of an element; the value of `?element` must be an optional, which is unwrapped."""
    if not optional:
        return checker.visit(node)
    given = checker.resolve(node)
    if is_optional(given):
        return given.params[0]
    if not is_dyn(given):
        checker.report(node.pos, f"expected type '{optional_of(given)}' but found '{given}'")
    return DYN


def _join(checker: Checker, previous: Type | None, current: Type) -> Type:
    """The common type of two elements, else dyn; `validation` decides whether that is an error."""
    if previous is None:
        return current
    joined = checker.inference.join(previous, current)
    return joined if joined is not None else DYN


def check_message(checker: Checker, node: MessageExpr) -> Type:
    """Check `Name{…}`; the environment decides which types may be constructed."""
    name = node.name.removeprefix(".")
    if (found := checker.messages(name)) is not None:
        for entry in node.entries:
            _check_member(checker, entry, found)
        return found
    for entry in node.entries:
        checker.visit(entry.value)
    if name in NAMED_TYPES:
        return checker.report(node.pos, f"'{name}' is not a message type")
    return checker.report_undeclared(node.pos, name)


def _check_member(checker: Checker, entry: Entry, message: Type) -> None:
    """Check one `name: value` of a message: the value must be assignable to the field."""
    assert isinstance(entry.key, Literal_)  # the parser makes nothing else
    name = str(entry.key.value)
    given = _check_element(checker, entry.value, optional=entry.optional)
    member = message.fields.get(name)
    if member is None:
        checker.report(entry.pos, f"undefined field '{name}'")
    elif not checker.inference.unify((given,), (member.type,)):
        shown = checker.inference.resolve_fully(given)
        checker.report(
            entry.pos,
            f"expected type of field '{name}' is '{member.type}' but provided type is '{shown}'",
        )
