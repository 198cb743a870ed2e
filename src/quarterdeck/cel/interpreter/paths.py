"""Reading the data: names and fields."""

from typing import Any

from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.interpreter.evaluator import Evaluator
from quarterdeck.cel.interpreter.stored import convert_scalar, convert_selected, has_members
from quarterdeck.cel.library.authorizer import Subject
from quarterdeck.cel.operations import containers
from quarterdeck.cel.syntax.ast import Ident, Select
from quarterdeck.cel.types import Kind
from quarterdeck.cel.values import NONE, Optional


def evaluate_ident(evaluator: Evaluator, node: Ident) -> Any:
    """Evaluate a name: a variable or a type."""
    if node.type_value is not None:
        return node.type_value
    evaluator.charge(1)
    if node.name not in evaluator.scope:
        raise EvaluationError(f"no such attribute(s): {node.name}")
    return convert_scalar(node.type, evaluator.scope[node.name])


def evaluate_select(evaluator: Evaluator, node: Select) -> Any:
    """Evaluate a field, or `has(operand.field)`."""
    if node.ident is not None:
        return node.ident.type_value
    operand = evaluator.visit(node.operand)
    if isinstance(operand, dict | Subject) and node.operand.type.kind is Kind.STRUCT:
        return _select_member(evaluator, node, operand.get(node.member))
    if node.test:
        return containers.has(operand, node.member)
    evaluator.charge(1)
    found = containers.select(operand, node.member)
    if isinstance(found, Optional) and has_members(node.operand.type) and found.value is None:
        return NONE
    return convert_selected(node.type, found)


def _select_member(evaluator: Evaluator, node: Select, value: Any) -> Any:
    """A declared member of an object: null counts as absent."""
    if node.test:
        return value is not None
    evaluator.charge(1)
    if value is None:
        raise EvaluationError(f"no such key: {node.field}")
    return convert_scalar(node.type, value)
