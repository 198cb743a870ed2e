"""Sorts rows of a MetricSource by one of their values. Pure."""

from collections.abc import Sequence
from typing import Any

from quarterdeck.engine.results import Resource
from quarterdeck.engine.values import to_text


def sort_rows(rows: Sequence[Resource], field: str, *, is_descending: bool) -> list[Resource]:
    """Sort rows by a value: numbers before texts, absent values last, then by id."""

    def key(row: Resource) -> tuple[int, float, str]:
        value = _get_value(row, field)
        if isinstance(value, bool | int | float):
            return (0, float(value), "")
        return (1, 0.0, to_text(value))

    present = [row for row in rows if _get_value(row, field) is not None]
    absent = [row for row in rows if _get_value(row, field) is None]
    by_id = sorted(present, key=lambda row: row.id)
    ordered = sorted(by_id, key=key, reverse=is_descending)
    return [*ordered, *sorted(absent, key=lambda row: row.id)]


def _get_value(row: Resource, field: str) -> Any:
    match field:
        case "_name" | "name" if field not in row.values:
            return row.name
        case "_namespace" | "namespace" if field not in row.values:
            return row.namespace or None
        case _:
            return row.values.get(field)
