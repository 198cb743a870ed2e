"""kubectl's last-applied annotation, and the migration from client-side to server-side apply."""

from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.wire.apply.fieldset import Trie, subtract_tries
from quarterdeck.wire.apply.schema_type import ItemError, Type
from quarterdeck.wire.apply.walk import compare, find_problems, list_fields

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT = 256 * 1024


def find_allowed_conflicts(live: Mapping[str, Any], kind: Type, api_version: str) -> Trie | None:
    """Return the fields that client-side apply set and nothing changed since; None if unknown."""
    text = _get_annotations(live).get(LAST_APPLIED)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return None
    if find_problems(last, kind, unique=True):
        return None
    try:
        change = compare(last, live, kind)
        fields = list_fields(last, kind)
    except ItemError:
        return None
    for changed in change:
        fields = subtract_tries(fields, changed)
    return fields


def with_last_applied(value: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Update kubectl's last-applied annotation, if the object has one."""
    annotations = _get_annotations(value)
    if not annotations.get(LAST_APPLIED):
        return value
    refreshed = {**annotations, LAST_APPLIED: _to_annotation(config)}
    size = sum(len(name.encode()) + len(text.encode()) for name, text in refreshed.items())
    if size > _ANNOTATIONS_LIMIT:
        del refreshed[LAST_APPLIED]
    return {**value, "metadata": {**value["metadata"], "annotations": refreshed}}


def _to_annotation(config: Mapping[str, Any]) -> str:
    result = dict(config)
    metadata = dict(config.get("metadata") or {})
    if isinstance(annotations := metadata.get("annotations"), dict):
        metadata["annotations"] = {
            name: text for name, text in annotations.items() if name != LAST_APPLIED
        }
    if metadata:
        result["metadata"] = metadata
    return msgspec.json.encode(result, order="sorted").decode() + "\n"


def _get_annotations(value: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
