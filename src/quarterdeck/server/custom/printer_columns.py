"""Printer columns of a definition, as a Table's columns and cells."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.server.custom.jsonpath import JsonPathError, compile_path, format_value
from quarterdeck.server.registry.printer import AGE_TEXT, NAME, format_age
from quarterdeck.server.registry.resource import Column, Object

Find = Callable[[Any], list[Any]]

_DEFAULT: Sequence[Mapping[str, Any]] = (
    {
        "name": "Age",
        "type": "date",
        "description": AGE_TEXT,
        "jsonPath": ".metadata.creationTimestamp",
    },
)


class PrinterColumns:
    """The columns of one version; a definition without any shows the age."""

    __slots__ = ("columns", "finders")

    def __init__(self, documents: Sequence[Mapping[str, Any]]) -> None:
        documents = documents or _DEFAULT
        self.columns: tuple[Column, ...] = (NAME, *map(_build_column, documents))
        self.finders: tuple[Find, ...] = tuple(
            _compile_finder(document.get("jsonPath", "")) for document in documents
        )

    def build_cells(self, value: Object, now: datetime) -> list[object]:
        """Build one row; a value that is not there is null."""
        row: list[object] = [(value.get("metadata") or {}).get("name", "")]
        for column, find in zip(self.columns[1:], self.finders, strict=True):
            found = find(value)
            row.append(_build_cell(column.type, found[0], now) if found else None)
        return row


def _build_column(document: Mapping[str, Any]) -> Column:
    path = document.get("jsonPath", "")
    return Column(
        name=document.get("name", ""),
        type=document.get("type", "string"),
        format=document.get("format", ""),
        description=document.get("description")
        or f"Custom resource definition column (in JSONPath format): {path}",
        priority=document.get("priority", 0),
    )


def _compile_finder(path: str) -> Find:
    try:
        return compile_path(path)
    except JsonPathError:
        return lambda value: []


def _build_cell(type_name: str, value: Any, now: datetime) -> object:
    match type_name:
        case "string":
            return format_value(value)
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return format_age(value, now)
        case _:
            return None
