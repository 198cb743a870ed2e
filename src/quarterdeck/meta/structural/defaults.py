"""Whether the defaults of a schema obey the schema: valid, and without unknown fields."""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.meta.schema import from_openapi
from quarterdeck.meta.structural import compiled_schema
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.meta.structural.shape import find_items


def check_defaults(document: Mapping[str, Any], path: str) -> list[FieldError]:
    """What is wrong with the defaults anywhere below a structural schema."""
    return list(_walk(document, path))


def _walk(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if node.get("default") is not None:
        yield from _check_default(node, node["default"], f"{path}.default")
    if (items := find_items(node)) is not None:
        yield from _walk(items, f"{path}.items")
    for key, child in sorted((node.get("properties") or {}).items()):
        yield from _walk(child, f"{path}.properties[{key}]")


def _check_default(node: Mapping[str, Any], default: Any, path: str) -> Iterator[FieldError]:
    schema = compiled_schema.compile_schema(
        from_openapi(node), is_root=bool(node.get("x-kubernetes-embedded-resource"))
    )
    pruned = copy_value(default)
    if schema.prune_walk(pruned):
        yield invalid(path, default, "must not have unknown fields")
    yield from schema.validate(default, prefix=path)
