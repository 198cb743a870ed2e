"""Would a write change anything? Answered without asking the server.

Operators compare what they want with what they have; a write that changes nothing costs a round
trip and, done by many, an API server. `merge_patch` is the smallest patch to send,
`would_change` tells whether a server-side apply can be skipped.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.wire import merge_patch as rfc7386
from quarterdeck.wire.apply import FieldManager
from quarterdeck.wire.apply.managed import Managed, ManagedFieldsError, decode
from quarterdeck.wire.apply.walk import same
from quarterdeck.wire.status import ApiError


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """The smallest merge patch between two objects, or `None` when there is nothing to send."""
    patch = rfc7386.create(dict(before), dict(after))
    return patch if isinstance(patch, dict) and patch else None


def would_change(
    live: Mapping[str, Any] | None,
    config: Mapping[str, Any],
    node: Node,
    *,
    manager: str,
    subresource: str = "",
) -> bool:
    """Whether applying a configuration would change the object or who owns what in it.

    `live` is the object as last seen, with its managedFields. Defaults the server would add do
    not count; a configuration the server would refuse counts as a change, because the answer
    must come from the server.
    """
    if live is None:
        return True
    fields = FieldManager(node, str(config.get("apiVersion", "")), subresource=subresource)
    try:
        applied = fields.apply(live, config, manager=manager, force=True, now="")
    except ApiError:
        return True
    return not (_same_owners(live, applied) and same(_bare(live), _bare(applied)))


def _same_owners(live: Mapping[str, Any], applied: Mapping[str, Any]) -> bool:
    before, after = _managed(live), _managed(applied)
    return before is not None and after is not None and before.owners == after.owners


def _managed(value: Mapping[str, Any]) -> Managed | None:
    try:
        return decode(value.get("metadata", {}).get("managedFields") or ())
    except ManagedFieldsError:
        return None


def _bare(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {
        name: part
        for name, part in value.get("metadata", {}).items()
        if name != "managedFields" and part is not None
    }
    return {**value, "metadata": metadata}
