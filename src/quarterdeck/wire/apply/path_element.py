"""Path elements of field sets as text: fields, keys and values of list items, and their order.

Elements are compared as text, so each has one spelling: that of Go.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quarterdeck.meta.field import quote

_ELEMENTS_CACHED = 4096
"""How many canonical path elements are cached: the same list items occur in every write."""


@functools.lru_cache(_ELEMENTS_CACHED)
def canonicalize_element(key: str) -> str | None:
    """Return the canonical spelling of an element; None for an unknown kind of element."""
    match key[:2]:
        case "i:" | ".":
            return key
        case "k:":
            return build_key_element(msgspec.json.decode(key[2:], type=dict[str, Any]))
        case "v:":
            return build_value_element(msgspec.json.decode(key[2:]))
        case _:
            if key[1:2] != ":":
                raise ValueError(
                    f"{key!r} is not a path element: it must start with a kind and a colon"
                )
            return None


def build_key_element(key: Mapping[str, Any]) -> str:
    """The path element of a list item with these keys."""
    if len(key) == 1:
        [(name, value)] = key.items()
        if type(value) is str:
            return build_name_element(name, value)
    return "k:" + _encode_json({name: _shorten_number(key[name]) for name in sorted(key)})


@functools.lru_cache(_ELEMENTS_CACHED)
def build_name_element(name: str, value: str) -> str:
    """The most frequent identity: one key that is a text."""
    return "k:" + _encode_json({name: value})


def build_value_element(value: Any) -> str:
    """The path element of a member of a set."""
    return "v:" + _encode_json(_shorten_number(value))


def _shorten_number(value: Any) -> Any:
    """A float without a fraction as an integer, which is how Go writes it."""
    return int(value) if type(value) is float and value.is_integer() else value


_HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def _encode_json(value: Any) -> str:
    """JSON with the escapes Go adds, because elements are compared as text."""
    return msgspec.json.encode(value).decode().translate(_HTML)


def sort_elements(elements: Iterable[str]) -> list[str]:
    """The path elements of a node in the order Kubernetes writes them."""
    keys = sorted(elements)
    if keys and keys[-1][:2] != "f:":  # `.` and fields sort as text, other elements by value
        keys.sort(key=get_sort_key)
    return keys


@functools.lru_cache(_ELEMENTS_CACHED)
def get_sort_key(element: str) -> tuple[int, Any]:
    """What elements are sorted by: their kind, then their value."""
    match element[:2]:
        case "f:":
            return 1, element
        case "k:":
            key = msgspec.json.decode(element[2:], type=dict[str, Any])
            return 2, [(name, _build_sort_key(value)) for name, value in key.items()]
        case "v:":
            return 3, _build_sort_key(msgspec.json.decode(element[2:]))
        case "i:":
            return 4, int(element[2:])
        case _:
            return 0, ""


def _build_sort_key(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return 2, value
        case int() | float():
            return 0, value
        case str():
            return 1, value
        case _:
            return 3, ""


def format_element(element: str) -> str:
    """A path element as error messages show it: `.name`, `[name="x"]`, `[="x"]`."""
    match element[:2]:
        case "f:":
            return "." + element[2:]
        case "k:":
            key = msgspec.json.decode(element[2:], type=dict[str, Any])
            return "[" + ",".join(f"{name}={_show(value)}" for name, value in key.items()) + "]"
        case "v:":
            return f"[={_show(msgspec.json.decode(element[2:]))}]"
        case _:
            return f"[{element[2:]}]"


def _show(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    return msgspec.json.encode(value).decode()
