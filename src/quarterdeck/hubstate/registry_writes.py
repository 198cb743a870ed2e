"""Plans the writes of a registry's data. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from quarterdeck.hubstate import keys, notices
from quarterdeck.hubstate.lifetimes import Lifetimes
from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    DeleteKeys,
    RemoveMembers,
    SetFields,
    SetValue,
    Write,
)
from quarterdeck.kit import json, rfc3339


class RegistrySpec(msgspec.Struct, frozen=True, kw_only=True):
    """The declared spec, in the shape of `registry:{r}:spec`."""

    display_name: str
    endpoint: str
    type: str
    insecure: bool
    skip_tls: bool
    labels: Mapping[str, str]
    monitoring: Mapping[str, int | bool]
    credentials_ref: Mapping[str, str] | msgspec.UnsetType = msgspec.UNSET


class RegistryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check, in the shape of `registry:{r}:status`."""

    available: bool
    response_time: int
    """Milliseconds until the response head was received."""
    version: str = ""
    repository_count: int = 0
    features: Mapping[str, bool] = {}
    repositories: tuple[str, ...] = ()
    last_check: str = ""
    error: str | msgspec.UnsetType = msgspec.UNSET


def plan_spec(name: str, spec: RegistrySpec) -> Iterator[Write]:
    """Plan the write of the declared spec."""
    yield SetValue(keys.registry(name, "spec"), json.encode(spec))


def plan_check(
    name: str,
    facts: RegistryFacts,
    *,
    at: datetime,
    lifetimes: Lifetimes,
    interval_s: float,
) -> Iterator[Write]:
    """Plan the writes of a check's result, and of one point of history."""
    ttl_s, second = lifetimes.compute_cache_ttl(interval_s), int(at.timestamp())
    now = rfc3339.format_time(at)
    yield AddMembers(keys.REGISTRIES, (name,))
    yield SetValue(keys.registry(name, "status"), json.encode(facts), ttl_s)
    available = "true" if facts.available else "false"
    yield SetFields(keys.registry(name, "meta"), {"last_update": now, "available": available})
    point = json.encode(
        {
            "timestamp": second,
            "response_time": facts.response_time,
            "available": facts.available,
        }
    )
    yield AddScored(
        keys.registry(name, "metrics"),
        {point.decode(): second},
        second - lifetimes.retention_s,
        lifetimes.retention_s,
    )
    yield SetValue(keys.registry(name, "metrics:latest"), point, ttl_s)


def plan_notice(
    name: str, facts: RegistryFacts, *, health: str, spec: RegistrySpec, at: datetime
) -> Iterator[Write]:
    """Plan the event that a registry was checked."""
    data = {
        "health": health,
        "available": facts.available,
        "response_time": facts.response_time,
        "display_name": spec.display_name,
        "type": spec.type,
    }
    yield from notices.plan_notice("registry.reconciled", name, at, data)


def plan_deletion(name: str, found: Sequence[str], at: datetime) -> Iterator[Write]:
    """Plan the deletion of a registry; `found` are the keys that begin with `registry:{r}:`."""
    yield DeleteKeys((*found, keys.events(name)))
    yield RemoveMembers(keys.REGISTRIES, (name,))
    yield notices.build_deletion_notice("registry.deleted", name, at)
