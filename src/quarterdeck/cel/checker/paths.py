"""Types of names and fields."""

from quarterdeck.cel.checker.checker import Checker
from quarterdeck.cel.checker.names import build_qualified_name, find_named_type
from quarterdeck.cel.syntax.ast import Ident, Select
from quarterdeck.cel.types import (
    BOOL,
    DYN,
    NAMED_TYPES,
    Kind,
    Type,
    is_optional,
    optional_of,
    type_of,
)


def check_ident(checker: Checker, node: Ident) -> Type:
    """A variable, of macros first, or a type."""
    name = node.name
    for scope in reversed(checker.scopes):
        if name in scope:
            return scope[name]
    if (found := checker.variables.get(name)) is not None:
        checker.findings.used.add(name)
        return found
    if (named := NAMED_TYPES.get(name)) is not None:
        node.type_value = named
        return type_of(named)
    return checker.report_undeclared(node.pos, name)


def check_select(checker: Checker, node: Select) -> Type:
    """A field, whether there is one, or the rest of a type's name."""
    if (named := find_named_type(node)) is not None:
        node.ident = Ident(node.pos, build_qualified_name(node), type_value=named)
        return type_of(named)
    result = check_field(checker, node, checker.resolve(node.operand))
    return BOOL if node.test else checker.inference.resolve(result)


def check_field(checker: Checker, node: Select, operand: Type) -> Type:
    """The type of a field of such an operand; the node learns how it is stored."""
    if is_optional(operand):
        inner = check_field(checker, node, checker.inference.resolve(operand.params[0]))
        return inner if is_optional(inner) else optional_of(inner)
    match operand.kind:
        case Kind.MAP:
            return operand.params[1]
        case Kind.STRUCT:
            if (member := operand.fields.get(node.field)) is None:
                return checker.report(node.pos, f"undefined field '{node.field}'")
            node.member = member.name
            return member.type
        case Kind.PARAM:
            checker.inference.unify((operand,), (DYN,))
            return DYN
        case Kind.DYN | Kind.ERROR:
            return DYN
    return checker.report(node.pos, f"type '{operand}' does not support field selection")
