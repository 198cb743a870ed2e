"""Types of names and fields."""

from quarterdeck.cel.checker.checker import Checker
from quarterdeck.cel.checker.names import build_qualified_name, find_named_type
from quarterdeck.cel.syntax.ast import Ident, Select
from quarterdeck.cel.types import (
    AUTHORIZER,
    BOOL,
    DECISION,
    DYN,
    GROUP_CHECK,
    NAMED_FORMAT,
    NAMED_TYPES,
    PATH_CHECK,
    QUANTITY,
    RESOURCE_CHECK,
    SEMVER,
    URL,
    Kind,
    Type,
    is_optional,
    optional_of,
    type_of,
)

_WITHOUT_FIELDS = frozenset(
    type_.name
    for type_ in (
        AUTHORIZER, DECISION, GROUP_CHECK, NAMED_FORMAT, PATH_CHECK, QUANTITY, RESOURCE_CHECK,
        SEMVER, URL,
    )
)  # fmt: skip
"""The types of libraries whose values have no fields, only functions."""


def check_ident(checker: Checker, node: Ident) -> Type:
    """Infer the type of a name: a variable of a macro, a variable, or a type."""
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
    return checker.report_undeclared(node.pos, f".{name}" if node.absolute else name)


def _describe_missing(operand: Type, field: str) -> str:
    """cel-go's message for an undefined field; types of libraries without fields have another."""
    if not operand.fields and operand.name in _WITHOUT_FIELDS:
        return f"unexpected failed resolution of '{operand.name}'"
    return f"undefined field '{field}'"


def check_select(checker: Checker, node: Select) -> Type:
    """Infer the type of a field, of `has(operand.field)`, or of a qualified type name."""
    if (named := find_named_type(node)) is not None:
        node.ident = Ident(node.pos, build_qualified_name(node), type_value=named)
        return type_of(named)
    result = check_field(checker, node, checker.resolve(node.operand))
    return BOOL if node.test else checker.inference.resolve(result)


def check_field(checker: Checker, node: Select, operand: Type) -> Type:
    """The type of a field of the operand; sets `member` of the node to its stored name."""
    if is_optional(operand):
        inner = check_field(checker, node, checker.inference.resolve(operand.params[0]))
        return inner if is_optional(inner) else optional_of(inner)
    match operand.kind:
        case Kind.MAP:
            return operand.params[1]
        case Kind.STRUCT:
            if (member := operand.fields.get(node.field)) is None:
                return checker.report(node.pos, _describe_missing(operand, node.field))
            node.member = member.name
            return member.type
        case Kind.PARAM:
            checker.inference.unify((operand,), (DYN,))
            return DYN
        case Kind.DYN | Kind.ERROR:
            return DYN
    return checker.report(node.pos, f"type '{operand}' does not support field selection")
