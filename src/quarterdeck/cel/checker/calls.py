"""The result types of functions and operators."""

from quarterdeck.cel.checker import paths
from quarterdeck.cel.checker.checker import Checker
from quarterdeck.cel.checker.declarations import is_declared, may_be_qualified
from quarterdeck.cel.checker.names import build_qualified_name
from quarterdeck.cel.checker.overloads import resolve
from quarterdeck.cel.library import constants
from quarterdeck.cel.syntax.ast import Call, Expr, Literal_, Select
from quarterdeck.cel.types import BOOL, ERROR, Type, is_optional, optional_of

_CONSTANTS_CHECKED = frozenset({"duration", "timestamp", "matches"})
"""Functions whose last argument is an error if it is a constant that they cannot accept."""
_LOGICAL = {"_&&_": ("logical_and",), "_||_": ("logical_or",)}
_PATCH_FUNCTIONS, _PATCH_TYPE = "jsonpatch.", "JSONPatch"
_PATTERNS_RECORDED = frozenset({"find", "findAll"})
"""Functions whose constant pattern is recorded, and checked when the expression is well typed."""


def check_call(checker: Checker, node: Call) -> Type:
    """Infer the result type of a call, and record the matching overloads in the node."""
    if node.function == "_?._":
        return _check_optional_select(checker, node)
    if node.target is not None:
        name = _find_qualified_name(checker, node.function, node.target)
        if name:
            node.function, node.target = name, None
        else:
            checker.visit(node.target)
    arguments = [checker.visit(argument) for argument in node.args]
    if node.function in _LOGICAL:
        return _check_logical(checker, node)
    if not is_declared(node.function, checker.newest):
        return checker.report_undeclared(node.pos, node.function)
    target = node.target.type if node.target is not None else None
    found = resolve(
        checker.inference,
        node.function,
        target=target,
        arguments=arguments,
        newest=checker.newest,
    )
    if found is None:
        return _report_no_overload(checker, node, arguments)
    node.overloads = found.overloads
    if node.function in _CONSTANTS_CHECKED:
        _check_constant(checker, node)
    elif node.function in _PATTERNS_RECORDED:
        _record_pattern(checker, node)
    return found.type


def _check_logical(checker: Checker, node: Call) -> Type:
    """Check `&&` and `||`: each operand that is not a bool is reported separately."""
    node.overloads = _LOGICAL[node.function]
    result = BOOL
    for argument in node.args:
        if argument.type is not BOOL and not checker.inference.unify((argument.type,), (BOOL,)):
            shown = checker.inference.resolve_fully(argument.type)
            result = checker.report(argument.pos, f"expected type 'bool' but found '{shown}'")
    return result


def _find_qualified_name(checker: Checker, function: str, target: Expr) -> str:
    """The function that a call of a member is, by its qualified name; empty if it is none.

    `jsonpatch.` functions need the type `JSONPatch`.
    """
    if not may_be_qualified(function, checker.newest):
        return ""
    name = f"{build_qualified_name(target)}.{function}"
    if not is_declared(name, checker.newest):
        return ""
    if name.startswith(_PATCH_FUNCTIONS) and checker.messages(_PATCH_TYPE) is None:
        return ""
    return name


def _report_no_overload(checker: Checker, node: Call, arguments: list[Type]) -> Type:
    signature = f"({', '.join(str(checker.inference.resolve_fully(part)) for part in arguments)})"
    if node.target is not None:
        signature = f"{checker.inference.resolve_fully(node.target.type)}.{signature}"
    return checker.report(
        node.pos, f"found no matching overload for '{node.function}' applied to '{signature}'"
    )


def _check_constant(checker: Checker, node: Call) -> None:
    argument = node.args[-1]
    if isinstance(argument, Literal_) and not constants.is_valid(node.function, argument.value):
        checker.report(argument.pos, f"invalid {node.function} argument")


def _record_pattern(checker: Checker, node: Call) -> None:
    pattern = node.args[0]
    if isinstance(pattern, Literal_):
        checker.findings.patterns.append(str(pattern.value))


def _check_optional_select(checker: Checker, node: Call) -> Type:
    """Infer the type of `operand.?field`: an optional, which is never nested."""
    operand, field = node.args
    found = checker.resolve(operand)
    inner = found.params[0] if is_optional(found) else found
    checker.visit(field)
    assert isinstance(field, Literal_)
    name = str(field.value)
    select = Select(node.pos, operand, name, name)
    result = checker.inference.resolve(
        paths.check_field(checker, select, checker.inference.resolve(inner))
    )
    field.value = select.member
    node.overloads = ("select_optional_field",)
    return result if is_optional(result) or result is ERROR else optional_of(result)
