"""Validates the defaults of a schema by the CEL rules of the same schema."""

from collections.abc import Iterator

import msgspec

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node


def validate_defaults(node: Node, path: str) -> Iterator[FieldError]:
    """Find the defaults that violate the rules; the rules are known to compile.

    A default is validated as it is written, without nested defaults, and as an update of itself.
    Defaults below `additionalProperties` are not validated, as in Kubernetes.
    """
    if node.has_default and node.default is not None:
        yield from _validate_default(node, f"{path}.default")
    for name, child in node.properties.items():
        yield from validate_defaults(child, f"{path}.properties[{name}]")
    if node.items is not None:
        yield from validate_defaults(node.items, f"{path}.items")


def _validate_default(node: Node, path: str) -> Iterator[FieldError]:
    from quarterdeck.cel import compile_rules

    rules = compile_rules(node)
    if isinstance(rules, list):
        return
    found = rules.check(node.default, node.default)
    for each in (*found.errors, *found.warnings):  # those of a value that did not change only warn
        yield msgspec.structs.replace(each, field=_join(path, each.field))


def _join(path: str, below: str) -> str:
    if below == "<nil>":
        return path
    return f"{path}{below}" if below.startswith("[") else f"{path}.{below}"
