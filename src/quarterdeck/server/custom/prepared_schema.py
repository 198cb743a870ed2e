"""Compiles the schemas of definitions.

A schema of a megabyte takes most of a second to read and to compile. It is compiled in a thread
while the definition is validated, and cached until the definition is stored and served. Small
schemas are compiled when the first object needs them, so that a server start compiles none.
"""

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.meta.structural import CompiledSchema, compile_schema
from quarterdeck.server.custom.embedded_metadata import has_embedded
from quarterdeck.server.custom.expressions import Expressions
from quarterdeck.server.custom.schema_rules import compile_expressions
from quarterdeck.server.registry.resource import STATUS

LARGE_BYTES = 64 * 1024
"""Larger schemas are compiled in a thread and cached."""
_REMEMBERED = 4


class PreparedSchema(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The compiled schema and rules of one version of a definition."""

    node: Node
    schema: CompiledSchema
    status_schema: CompiledSchema | None
    has_embedded: bool
    expressions: Expressions | None


def prepare_schema(document: Mapping[str, Any] | None) -> PreparedSchema:
    """Compile the schema of a version, or return what `prepare_large_schema` has cached."""
    document = document or {"type": "object"}
    encoded = kit_json.encode(document)
    if len(encoded) <= LARGE_BYTES:
        return _prepare(document)
    return _prepare_large(encoded)


def prepare_large_schema(document: Mapping[str, Any]) -> None:
    """Compile and cache a large schema for `prepare_schema`; call it in a thread."""
    encoded = kit_json.encode(document)
    if len(encoded) > LARGE_BYTES:
        _prepare_large(encoded)


@functools.lru_cache(maxsize=_REMEMBERED)
def _prepare_large(encoded: bytes) -> PreparedSchema:
    prepared = _prepare(kit_json.decode(encoded))
    prepared.schema.compile_all()
    if prepared.status_schema is not None:
        prepared.status_schema.compile_all()
    return prepared


def _prepare(document: Mapping[str, Any]) -> PreparedSchema:
    node = from_openapi(document)
    status = node.properties.get(STATUS)
    return PreparedSchema(
        node=node,
        schema=compile_schema(node),
        status_schema=None if status is None else compile_schema(status, is_root=False),
        has_embedded=has_embedded(node),
        expressions=compile_expressions(node),
    )
