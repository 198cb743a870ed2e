"""Converts values in Go's syntax to JSON.

Up to 1.32 Kubernetes prints structures in messages in Go's syntax, since 1.33 as JSON; types
without JSON names use the Go names of their members. The newer text is computed from the older.
"""

import ast
import base64
import json
import re
from typing import Any

_TYPE = re.compile(r"&?(?:\[\]|map\[[\w.]+\]|\*)*(?:interface \{\}|[A-Za-z_][\w./]*)")
_POINTER = re.compile(r"\(\*[\w.\[\]]+\)\((?:nil|0x[0-9a-f]+)\)")
_NUMBER = re.compile(r"0x[0-9a-f]+|-?\d+(?:\.\d+)?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_NIL = "(nil)"


class _NotALiteral(ValueError):
    pass


def to_json(text: str) -> str:
    """Convert a Go literal to compact JSON; other text becomes a JSON string."""
    try:
        value, end = _parse(text, 0)
    except (_NotALiteral, ValueError, SyntaxError):
        return encode(text)
    return encode(value if end == len(text) else text)


def encode(value: Any) -> str:
    """Encode a value as Go does: compact, with HTML characters escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPES)


def _parse(text: str, at: int) -> tuple[Any, int]:
    if found := _STRING.match(text, at):
        return ast.literal_eval(found.group()), found.end()
    if found := _POINTER.match(text, at):
        return None, found.end()
    if found := _NUMBER.match(text, at):
        return _parse_number(found.group()), found.end()
    for word, value in (("true", True), ("false", False), ("nil", None), ("<nil>", None)):
        if text.startswith(word, at):
            return value, at + len(word)
    found = _TYPE.match(text, at)
    if found is None:
        raise _NotALiteral(text)
    if text.startswith(_NIL, found.end()):
        return None, found.end() + len(_NIL)
    if not text.startswith("{", found.end()):
        raise _NotALiteral(text)
    return _parse_composite(text, found.group().lstrip("&"), found.end() + 1)


def _parse_number(text: str) -> int | float:
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if "." in text else int(text)


def _parse_composite(text: str, kind: str, at: int) -> tuple[Any, int]:
    """Parse the rest of a list, map or structure, after its opening brace."""
    items: list[Any] = []
    members: dict[str, Any] = {}
    while not text.startswith("}", at):
        if not kind.startswith("[]"):
            name, at = _parse_name(text, at, is_map=text.startswith('"', at))
            members[name], at = _parse(text, at)
        else:
            item, at = _parse(text, at)
            items.append(item)
        if text.startswith(", ", at):
            at += 2
        elif not text.startswith("}", at):
            raise _NotALiteral(text)
    return _convert(kind, items, members), at + 1


def _parse_name(text: str, at: int, *, is_map: bool) -> tuple[str, int]:
    end = _STRING.match(text, at) if is_map else re.compile(r"\w+").match(text, at)
    if end is None or not text.startswith(":", end.end()):
        raise _NotALiteral(text)
    name = ast.literal_eval(end.group()) if is_map else end.group()
    return name, end.end() + 1


def _convert(kind: str, items: list[Any], members: dict[str, Any]) -> Any:
    """Convert a parsed composite value as the JSON encoding of its type does."""
    if kind == "[]byte":
        return base64.b64encode(bytes(items)).decode()
    if kind.startswith("[]"):
        return items
    if kind == "resource.Quantity":
        return members["s"]
    if kind == "intstr.IntOrString":
        return members["StrVal"] if members["Type"] else members["IntVal"]
    if kind.startswith("v1."):  # has names of its own for JSON, and leaves out what is absent
        return {_to_json_name(name): each for name, each in members.items() if each is not None}
    return members


def _to_json_name(name: str) -> str:
    return {"UID": "uid", "APIVersion": "apiVersion"}.get(name, name[0].lower() + name[1:])
