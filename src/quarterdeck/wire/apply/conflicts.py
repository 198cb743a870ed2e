"""Conflicts between field managers, and the 409 that reports them."""

from collections.abc import Mapping

from quarterdeck.meta.field import quote
from quarterdeck.wire.apply.fieldset import Trie, iterate_paths, subtract_tries
from quarterdeck.wire.apply.identity import UPDATE, Identity
from quarterdeck.wire.apply.updater import FieldConflict
from quarterdeck.wire.status import Cause, Conflict, Details


def build_conflict(error: FieldConflict) -> Conflict:
    """Build the 409 that lists every conflicting field and its manager."""
    disputed = [
        (format_manager(key), list(iterate_paths(error.conflicts[key])))
        for key in sorted(error.conflicts, key=Identity.key)
    ]
    causes = tuple(
        Cause(reason="FieldManagerConflict", message=f"conflict with {manager}", field=path)
        for manager, found in disputed
        for path in found
    )
    return Conflict(_format_message(disputed, len(causes)), details=Details(causes=causes))


def _format_message(disputed: list[tuple[str, list[str]]], count: int) -> str:
    if count == 1:
        manager, (path,) = disputed[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    lines = [
        line
        for manager, found in disputed
        for line in (f"conflicts with {manager}:", *(f"- {path}" for path in found))
    ]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)


def format_manager(identity: Identity) -> str:
    """Format a manager as conflicts name it."""
    text = quote(identity.manager)
    if identity.subresource:
        text += f" with subresource {quote(identity.subresource)}"
    if identity.operation == UPDATE:
        text += f" using {identity.api_version}"
    return text


def drop_allowed(conflicts: Mapping[Identity, Trie], allowed: Trie) -> dict[Identity, Trie]:
    """Remove fields that may be taken over from conflicts; return what is left."""
    rest = {key: subtract_tries(trie, allowed) for key, trie in conflicts.items()}
    return {key: trie for key, trie in rest.items() if trie}
