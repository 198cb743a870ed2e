"""Removes secrets from audit events: values of Secrets, tokens, and copies of either. Pure."""

from typing import Any

REDACTED = "<redacted>"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_REASONS_WITHOUT_CONTENT = frozenset(
    {
        *("AlreadyExists", "Conflict", "Expired", "Forbidden", "MethodNotAllowed"),
        *("NotAcceptable", "NotFound", "TooManyRequests", "Unauthorized"),
    }
)
"""Reasons of errors that name objects, users and fields, but show no values."""


def redact(value: Any, *, resource: str, subresource: str = "") -> Any:
    """The same object without its secrets; items of lists and rows of Tables are redacted too."""
    if not isinstance(value, dict):
        # a JSON patch of a Secret: its paths decide which values are secret, so none is shown
        return REDACTED if resource == "secrets" and value is not None else value
    kept = dict(value)
    if isinstance(kept.get("items"), list):
        kept["items"] = [redact(each, resource=resource) for each in kept["items"]]
    if resource == "secrets":
        _redact_secret(kept)
    if resource == "tokenreviews" or subresource == "token":
        for member in ("spec", "status"):
            part = kept.get(member)
            if isinstance(part, dict) and "token" in part:
                kept[member] = {**part, "token": REDACTED}
    return kept


def shows_content(reason: str, *, resource: str) -> bool:
    """Whether the message of an error may show values of a Secret, as that of a patch does."""
    return resource == "secrets" and reason not in _REASONS_WITHOUT_CONTENT


def _redact_secret(kept: dict[str, Any]) -> None:
    """Redact, in place, a Secret, a patch of one, a Table of them, or an error about one."""
    for member in ("data", "stringData"):
        part = kept.get(member)
        if isinstance(part, dict):
            kept[member] = dict.fromkeys(part, REDACTED)
        elif part is not None:
            kept[member] = REDACTED
    kept["metadata"] = _drop_copy(kept.get("metadata"))
    if isinstance(kept.get("rows"), list):
        kept["rows"] = [_redact_row(each) for each in kept["rows"]]
    is_failure = kept.get("kind") == "Status" and kept.get("status") == "Failure"
    if is_failure and shows_content(str(kept.get("reason")), resource="secrets"):
        kept["message"] = REDACTED
        kept.pop("details", None)


def _redact_row(row: Any) -> Any:
    """Redact the object of a row; its cells show no values."""
    if not isinstance(row, dict) or "object" not in row:
        return row
    return {**row, "object": redact(row["object"], resource="secrets")}


def _drop_copy(metadata: Any) -> Any:
    """Redact kubectl's last-applied annotation, which has a copy of the object."""
    if not isinstance(metadata, dict) or _LAST_APPLIED not in (metadata.get("annotations") or {}):
        return metadata
    return {**metadata, "annotations": {**metadata["annotations"], _LAST_APPLIED: REDACTED}}
