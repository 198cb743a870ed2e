"""Evaluates one expression for the command `quarterdeck cel`."""

from typing import Any

from quarterdeck.cel.cost.budget import PER_CALL_LIMIT
from quarterdeck.cel.cost.meter import Meter
from quarterdeck.cel.program import Environment
from quarterdeck.cel.types import DYN, Type
from quarterdeck.cel.values import Duration, Optional, Timestamp


def explain(text: str, self_value: object) -> dict[str, Any]:
    """Type, cost and value of an expression in which `self` is the given JSON.

    It may use the functions that the server allows in a new expression.

    Raises:
        CompileError: with line and column of every issue.
        EvaluationError: when the expression has no value.
    """
    program = Environment({"self": DYN}, stored=()).compile(text, result=None)
    meter = Meter(PER_CALL_LIMIT)
    value = program.evaluate_with_meter({"self": self_value}, meter)
    return {"type": str(program.type), "cost": meter.cost, "value": to_json(value)}


def to_json(value: Any) -> Any:
    """Convert a value to JSON for display: bytes in base64, times and durations as text."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            return int(value)
        case bytes():
            import base64

            return base64.b64encode(value).decode()
        case list() | tuple():
            return [to_json(item) for item in value]
        case dict():
            return {_key(key): to_json(item) for key, item in value.items()}
        case Optional():
            return to_json(value.value) if value.present else None
        case Duration() | Timestamp():
            return str(value)
        case Type():
            return value.name
        case _:
            return str(value)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)
