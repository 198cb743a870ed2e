"""Keys in the paths of JSON patches."""

from collections.abc import Callable, Mapping
from typing import Any

DECLARATIONS = """
jsonpatch.escapeKey string_jsonpatch_escapeKey_string (string) string
"""


def escape_key(key: str) -> str:
    """A key as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "jsonpatch.escapeKey": {str: escape_key},
}
