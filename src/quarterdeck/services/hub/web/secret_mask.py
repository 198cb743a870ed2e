"""Masks values of Secrets in answers to the page, unless the request asks to reveal them.

A viewer who may read a Secret sees its keys and the length of each value. `reveal=true` in the
query is what a click on "Show values" sends.
"""

from typing import Any

from quarterdeck.kit import json
from quarterdeck.wire.path import ResourcePath

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_RESOURCE = "secrets"


def is_about_secrets(path: ResourcePath | None) -> bool:
    """Whether answers of a path can hold values of Secrets."""
    return path is not None and path.group == "" and path.resource == _RESOURCE


def mask(body: bytes) -> bytes:
    """Mask the values in a Secret, a list, a Table or a watch event; empty if it is not JSON."""
    try:
        document = json.decode(body)
    except json.JsonError:
        return b""
    _mask(document)
    return json.encode(document)


def _mask(node: Any) -> None:
    if not isinstance(node, dict):
        return
    for field in ("data", "stringData"):
        values = node.get(field)
        if isinstance(values, dict):
            node[field] = {key: _describe(value) for key, value in values.items()}
    metadata = node.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and LAST_APPLIED in annotations:
        annotations[LAST_APPLIED] = "(hidden)"
    for item in (*(node.get("items") or ()), *(node.get("rows") or ()), node.get("object")):
        _mask(item)


def _describe(value: Any) -> str:
    return f"(hidden, {len(value)} characters)" if isinstance(value, str) else "(hidden)"
