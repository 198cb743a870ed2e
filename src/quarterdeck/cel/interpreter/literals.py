"""Constants, lists and maps as they are written."""

from typing import Any

from quarterdeck.cel.cost.units import LIST_COST, MAP_COST, STRUCT_COST
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.interpreter.evaluator import Evaluator
from quarterdeck.cel.operations.classes import class_of
from quarterdeck.cel.syntax.ast import ListExpr, Literal_, MapExpr, MessageExpr
from quarterdeck.cel.values import Message, Optional


def evaluate_constant(evaluator: Evaluator, node: Literal_) -> Any:
    """The constant itself, free of charge."""
    return node.value


def evaluate_list(evaluator: Evaluator, node: ListExpr) -> list[Any]:
    """A list without the optional elements that are absent."""
    items: list[Any] = []
    for at, part in enumerate(node.elements):
        value = evaluator.evaluate_whole(part)
        items += _unwrap_optional(value, "list element") if at in node.optional else [value]
    evaluator.charge(LIST_COST)
    return items


def evaluate_map(evaluator: Evaluator, node: MapExpr) -> dict[Any, Any]:
    """A map without the optional entries that are absent."""
    items: dict[Any, Any] = {}
    for entry in node.entries:
        key, value = evaluator.evaluate_whole(entry.key), evaluator.evaluate_whole(entry.value)
        if class_of(key) in (list, dict):
            raise EvaluationError("unsupported key type")
        for item in _unwrap_optional(value, "entry") if entry.optional else [value]:
            items.pop(key, None)  # the last of several counts, with the key as it is written there
            items[key] = item
    evaluator.charge(MAP_COST)
    return items


def evaluate_message(evaluator: Evaluator, node: MessageExpr) -> Message:
    """A value of a named type, without the optional members that are absent."""
    members: dict[str, Any] = {}
    for entry in node.entries:
        name, value = evaluator.evaluate_whole(entry.key), evaluator.evaluate_whole(entry.value)
        for item in _unwrap_optional(value, "field") if entry.optional else [value]:
            members[name] = item
    evaluator.charge(STRUCT_COST)
    return Message(node.type.name, members)


def _unwrap_optional(value: Any, what: str) -> list[Any]:
    """A list with the value of an optional, empty if it has none; other values are an error."""
    if not isinstance(value, Optional):
        raise EvaluationError(f"cannot initialize optional {what} from non-optional value {value}")
    return [value.value] if value.present else []
