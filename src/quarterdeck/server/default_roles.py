"""The roles and bindings every cluster has, made or completed when the server starts."""

from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.authorization.rbac.policy import (
    GROUP,
    RESOURCES,
    default_objects,
    merge_binding,
    merge_role,
)
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.storage import Entry, StoreKey, Ticket

_ROLES = ("Role", "ClusterRole")


def reconcile(core: Core) -> list[Ticket]:
    """Create missing default objects, and add missing rules and subjects to existing ones."""
    tickets = [_reconcile_one(core, default) for default in default_objects()]
    return [ticket for ticket in tickets if ticket is not None]


def _reconcile_one(core: Core, default: dict[str, Any]) -> Ticket | None:
    metadata = default["metadata"]
    resource = f"{RESOURCES[default['kind']]}.{GROUP}"
    key = StoreKey(resource, metadata.get("namespace", ""), metadata["name"])
    entry = core.store.get(key)
    if entry is None:
        metadata["uid"] = generate_uid(core.random)
        metadata["creationTimestamp"] = format_time(core.clock.now())
        return core.store.put(key, build_encoder(default), expected=0)
    return _complete(core, entry, default)


def _complete(core: Core, entry: Entry, default: dict[str, Any]) -> Ticket | None:
    existing = kit_json.decode(entry.value)
    merge = merge_role if default["kind"] in _ROLES else merge_binding
    merged = merge(existing, default)
    if merged is None:
        return None
    return core.store.put(entry.key, build_encoder(merged), expected=entry.revision)
