"""Removes nulls that a merge made where the schema does not allow them."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.schema import Node


def drop_new_nulls(
    value: dict[str, Any], live: Mapping[str, Any], node: Node | None, config: object = None
) -> dict[str, Any]:
    """Drop nulls that a merge made and the schema does not allow; unchanged parts are skipped.

    Nulls that the configuration itself sets are kept, so that validation reports them.
    """
    wanted = config if isinstance(config, dict) else {}
    if value is live:
        return value
    result: dict[str, Any] = {}
    for name, part in value.items():
        schema = _find_member(node, name)
        before = live.get(name)
        is_made = part is None and before is not None and name not in wanted
        if is_made and not (schema is not None and schema.nullable):
            continue
        if isinstance(part, dict) and part is not before:
            inner = before if isinstance(before, dict) else {}
            part = drop_new_nulls(part, inner, schema, wanted.get(name))
        result[name] = part
    return result


def _find_member(node: Node | None, name: str) -> Node | None:
    if node is None:
        return None
    found = node.properties.get(name)
    return found if found is not None else _find_additional(node)


def _find_additional(node: Node) -> Node | None:
    return node.additional if isinstance(node.additional, Node) else None
