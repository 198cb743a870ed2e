"""Removes secrets from audit events: values of Secrets, tokens, and copies of either. Pure."""

from typing import Any

REDACTED = "<redacted>"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def redact(value: Any, *, resource: str, subresource: str = "") -> Any:
    """The same object without its secrets; items of lists are redacted too."""
    if not isinstance(value, dict):
        # a JSON patch of a Secret: its paths decide which values are secret, so none is shown
        return REDACTED if resource == "secrets" and value is not None else value
    kept = dict(value)
    if isinstance(kept.get("items"), list):
        kept["items"] = [redact(each, resource=resource) for each in kept["items"]]
    if resource == "secrets":
        for member in ("data", "stringData"):
            if isinstance(kept.get(member), dict):
                kept[member] = dict.fromkeys(kept[member], REDACTED)
        kept["metadata"] = _drop_copy(kept.get("metadata"))
    if resource == "tokenreviews" or subresource == "token":
        for member in ("spec", "status"):
            part = kept.get(member)
            if isinstance(part, dict) and "token" in part:
                kept[member] = {**part, "token": REDACTED}
    return kept


def _drop_copy(metadata: Any) -> Any:
    """Redact kubectl's last-applied annotation, which has a copy of the object."""
    if not isinstance(metadata, dict) or _LAST_APPLIED not in (metadata.get("annotations") or {}):
        return metadata
    return {**metadata, "annotations": {**metadata["annotations"], _LAST_APPLIED: REDACTED}}
