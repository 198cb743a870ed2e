"""Limits how deeply a schema may be nested.

Recursive functions walk schemas when they are compiled and for every object. A limit far above that
of real schemas keeps a malicious one from crashing the process.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta.field import Bare, FieldError, invalid

MAX_DEPTH = 100
"""Levels of members, items and combinators below the root of a schema."""


def validate_depth(versions: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    """Find the versions whose schema is nested too deeply."""
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if measure_depth(schema) > MAX_DEPTH:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            text = f"must not be nested more than {MAX_DEPTH} levels deep"
            yield invalid(path, Bare("schema"), text)


def measure_depth(schema: object) -> int:
    """Count the levels of nested schemas; stops soon after the limit."""
    level, depth = [schema], 0
    while level and depth <= MAX_DEPTH:
        level = [below for each in level for below in _list_children(each)]
        depth += bool(level)
    return depth


def _list_children(schema: object) -> Iterator[object]:
    if not isinstance(schema, Mapping):
        return
    for name in ("properties", "patternProperties", "definitions", "dependencies"):
        members = schema.get(name)
        if isinstance(members, Mapping):
            yield from members.values()
    for name in ("items", "additionalProperties", "additionalItems", "not"):
        if isinstance(schema.get(name), Mapping):
            yield schema[name]
    for name in ("allOf", "anyOf", "oneOf", "items"):
        parts = schema.get(name)
        if isinstance(parts, list):
            yield from parts
