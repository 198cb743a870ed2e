"""Plans the writes of an access policy and of its indexes by subject. Pure."""

from collections.abc import Iterator
from datetime import datetime

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    DeleteKeys,
    Publish,
    RemoveMembers,
    RemoveScored,
    SetFields,
    Write,
)
from quarterdeck.inventory.policy import CompiledPolicy
from quarterdeck.kit import json, rfc3339


def plan_policy(
    policy: CompiledPolicy,
    *,
    before: CompiledPolicy | None,
    status: dict[str, str],
    at: datetime,
    event: str,
) -> Iterator[Write]:
    """Plan the writes of a policy and its indexes; `before` is the stored policy."""
    key = keys.policy(policy.namespace, policy.policy_name)
    fields = {
        "data": json.encode(policy).decode(),
        "priority": str(policy.priority),
        "effect": policy.effect,
        "enabled": "true" if policy.enabled else "false",
        "hash": policy.hash,
        "compiled_at": policy.compiled_at,
        "status": json.encode(status).decode(),
    }
    yield SetFields(key, fields)
    yield AddMembers(keys.POLICIES, (key,))
    yield AddScored(keys.POLICIES_BY_PRIORITY, {key: float(policy.priority)})
    old = set(_list_indexes(before)) if before is not None else set()
    new = set(_list_indexes(policy))
    for index in sorted(old - new):
        yield from _remove(index, key)
    for index in sorted(new):
        yield AddMembers(index, (key,))
        if index.startswith("policy:"):
            yield AddScored(f"{index}:sorted", {key: float(policy.priority)})
    yield from _publish(key, at, action="updated" if before is not None else "created", event=event)


def plan_deletion(
    namespace: str, name: str, before: CompiledPolicy | None, at: datetime
) -> Iterator[Write]:
    """Plan the deletion of a policy and of its entries in indexes."""
    key = keys.policy(namespace, name)
    yield DeleteKeys((key,))
    yield RemoveMembers(keys.POLICIES, (key,))
    yield RemoveScored(keys.POLICIES_BY_PRIORITY, (key,))
    for index in sorted(_list_indexes(before)) if before is not None else ():
        yield from _remove(index, key)
    yield from _publish(key, at, action="deleted", event="deleted")


def _list_indexes(policy: CompiledPolicy) -> Iterator[str]:
    """The index sets that contain a policy; none if it is disabled."""
    if not policy.enabled:
        return
    yield keys.ENABLED_POLICIES
    yield keys.policies_by_effect(policy.effect)
    subjects = {
        "user": policy.users,
        "group": policy.groups,
        "sa": policy.service_accounts,
        "customtype": policy.custom_resource_types,
    }
    for kind, names in subjects.items():
        for name in names:
            yield keys.policies_of(kind, name)


def _remove(index: str, key: str) -> Iterator[Write]:
    yield RemoveMembers(index, (key,))
    if index.startswith("policy:"):
        yield RemoveScored(f"{index}:sorted", (key,))


def _publish(key: str, at: datetime, *, action: str, event: str) -> Iterator[Write]:
    now = rfc3339.format_time(at)
    change = {"action": action, "policy": key, "timestamp": now}
    told = {"type": f"policy.{event}", "policy": key, "timestamp": now}
    yield Publish(keys.POLICY_CHANGES, json.encode(change))
    yield Publish(keys.POLICY_EVENTS, json.encode(told))
