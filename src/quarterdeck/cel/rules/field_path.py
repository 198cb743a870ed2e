"""The `fieldPath` of a rule: a JSON path relative to the schema node of the rule."""

import re
from collections.abc import Iterator

from quarterdeck.meta.schema import Node

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
            "'": "'", "\\": "\\"}  # fmt: skip


class PathError(ValueError):
    """Raised when a path is malformed, or its field is not in the schema."""


def normalize(path: str, node: Node) -> str:
    """The path as errors show it, without its leading dot.

    Raises:
        PathError: if the path is malformed, or its field is not in the schema.
    """
    tokens = iter(_TOKEN.findall(path))
    shown = ""
    for token in tokens:
        if token == ".":
            name = _take(tokens)
        elif token == "[":
            name = _unquote(_take(tokens))
            if (closing := _take(tokens)) != "]":
                raise PathError(f"expected ] but got {closing}")
        else:
            raise PathError(f"expected [ or . but got: {token}")
        shown, node = _step(shown, node, name)
    return shown


def _take(tokens: Iterator[str]) -> str:
    if (token := next(tokens, None)) is None:
        raise PathError("unexpected end of JSON path")
    return token


def _unquote(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1])


def _step(shown: str, node: Node, name: str) -> tuple[str, Node]:
    if node.properties:
        if name not in node.properties:
            raise PathError("does not refer to a valid field")
        return f"{shown}.{name}" if shown else name, node.properties[name]
    if isinstance(node.additional, Node):
        return f"{shown}[{name}]", node.additional
    raise PathError("does not refer to a valid field")
