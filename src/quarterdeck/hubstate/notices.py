"""Events of clusters, registries and sources, as messages and as stored lists. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.lifetimes import EVENTS_KEPT, EVENTS_S
from quarterdeck.hubstate.writes import Publish, PushItem, Write
from quarterdeck.kit import json, rfc3339


def plan_notice(type_: str, name: str, at: datetime, data: Mapping[str, Any]) -> Iterator[Write]:
    """Plan an event of a cluster or registry: store it in its list, and publish it."""
    body = json.encode(
        {"type": type_, "cluster": name, "timestamp": rfc3339.format_time(at), "data": dict(data)}
    )
    yield PushItem(keys.events(name), body, EVENTS_KEPT, EVENTS_S)
    yield Publish(keys.CLUSTER_EVENTS, body)


def build_deletion_notice(type_: str, name: str, at: datetime) -> Publish:
    """Build the message that a cluster or registry was deleted; it is not stored."""
    body = {"type": type_, "cluster": name, "timestamp": rfc3339.format_time(at), "data": {}}
    return Publish(keys.CLUSTER_EVENTS, json.encode(body))


def build_source_notice(
    type_: str, source_id: str, at: datetime, data: Mapping[str, Any]
) -> Publish:
    """Build the message that a source was collected or deleted."""
    body = {
        "type": type_,
        "sourceId": source_id,
        "timestamp": rfc3339.format_time(at),
        "data": dict(data),
    }
    return Publish(keys.SOURCE_EVENTS, json.encode(body))
