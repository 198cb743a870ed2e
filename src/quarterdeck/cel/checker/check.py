"""Checks the types of a syntax tree, with one function for each kind of node."""

from collections.abc import Mapping

from quarterdeck.cel.checker import calls, literals, macros, paths
from quarterdeck.cel.checker.checker import Checker, CheckFunction, Findings, FindMessage
from quarterdeck.cel.checker.validation import validate
from quarterdeck.cel.errors import CompileError
from quarterdeck.cel.introduction import EVERYTHING
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
from quarterdeck.cel.types import Type

_CHECK_FUNCTIONS: Mapping[type[Expr], CheckFunction] = {
    Literal_: literals.check_constant,
    Ident: paths.check_ident,
    Select: paths.check_select,
    Call: calls.check_call,
    ListExpr: literals.check_list,
    MapExpr: literals.check_map,
    MessageExpr: literals.check_message,
    Comprehension: macros.check_comprehension,
    OptionalMap: macros.check_optional_map,
}


def find_no_message(name: str) -> Type | None:
    """The default for `messages`: finds no type, as most expressions may not construct messages."""
    del name
    return None


def check(
    source: str,
    tree: Expr,
    variables: Mapping[str, Type],
    *,
    messages: FindMessage = find_no_message,
    newest: int = EVERYTHING,
) -> Findings:
    """Set the type of every node; functions added after the release `newest` are not declared.

    Raises:
        CompileError: with every issue found.
    """
    checker = Checker(_CHECK_FUNCTIONS, source, variables, messages=messages, newest=newest)
    try:
        checker.visit(tree)
    except RecursionError:
        checker.report(0, "expression recursion limit exceeded")
    if checker.issues:
        raise CompileError(source, checker.issues)
    if _complete_types(checker):
        validate(tree, checker.report)
        if checker.issues:
            raise CompileError(source, checker.issues)
    return checker.findings


def _complete_types(checker: Checker) -> bool:
    """Replace inferred type parameters; returns whether the tree has anything for `validate`."""
    has_validated = False
    for node in checker.seen:
        if node.type.generic:
            node.type = checker.inference.resolve_fully(node.type)
        if isinstance(node, Call):
            if node.function in ("_+_", "_?_:_"):
                node.type = _with_list_semantics(node)
            elif node.function == "format":
                has_validated = True
        elif isinstance(node, ListExpr | MapExpr):
            has_validated = True
    return has_validated


def _with_list_semantics(node: Call) -> Type:
    """The type of `a + b` or `c ? a : b`, with the x-kubernetes-list-type of an operand."""
    special = next((part.type for part in node.args if part.type.special), None)
    return special if special is not None and special == node.type else node.type
