"""Remote attributes of a collector: claims, their precedence and the changes. Pure.

Layers, strongest first: ExternalAttributeSync, the Collector itself, RemoteAttributePolicies by
priority. Keys that were not set by this operator are left alone, and a key that is no longer wanted
is removed only if it still has the value that was set.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.fleetmanagement.collector import AttributeOwner
from quarterdeck.apis.fleetmanagement.policies import CollectorSelector
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    ExternalAttributeSync,
    RemoteAttributePolicy,
)
from quarterdeck.operators.pipelines.ports import RemoteCollector
from quarterdeck.telemetry.attributes import merge_attributes
from quarterdeck.telemetry.matchers import MatcherError, match_all, parse_all


class Layer(NamedTuple):
    """The attributes that one object claims."""

    kind: str
    name: str
    attributes: Mapping[str, str]


def select_collectors(
    selector: CollectorSelector, collectors: Sequence[RemoteCollector], *, empty_selects_all: bool
) -> list[RemoteCollector]:
    """The collectors that satisfy the matchers, and those whose ids are listed.

    Matchers see the id and what a collector reports, not the attributes that were set for it:
    otherwise a policy would select by its own result.
    """
    if not selector.matchers and not selector.collector_ids:
        return list(collectors) if empty_selects_all else []
    try:
        matchers = parse_all(selector.matchers)
    except MatcherError:
        return []
    ids = frozenset(selector.collector_ids)
    return [
        each
        for each in collectors
        if each.id in ids or match_all(matchers, merge_attributes(each.id, each.local, {}))
    ]


def list_layers(
    collector: Collector,
    remote: RemoteCollector,
    *,
    policies: Iterable[RemoteAttributePolicy],
    syncs: Iterable[ExternalAttributeSync],
) -> list[Layer]:
    """The claims of attributes for a collector, highest precedence first."""
    found = []
    for sync in sorted(syncs, key=lambda each: str(each.key)):
        found += [
            Layer("ExternalAttributeSync", str(sync.key), entry.attributes)
            for entry in sync.status.owned_keys
            if entry.collector_id == remote.id
        ]
    found.append(Layer("Collector", str(collector.key), collector.spec.remote_attributes))
    for policy in sorted(policies, key=lambda each: (-each.spec.priority, str(each.key))):
        if select_collectors(policy.spec.selector, [remote], empty_selects_all=False):
            layer = Layer("RemoteAttributePolicy", str(policy.key), policy.spec.attributes)
            found.append(layer)
    return found


def resolve_owners(layers: Sequence[Layer]) -> tuple[AttributeOwner, ...]:
    """The winning claim of each attribute, by key."""
    found: dict[str, AttributeOwner] = {}
    for layer in layers:
        for key, value in layer.attributes.items():
            owner = AttributeOwner(
                key=key, owner_kind=layer.kind, owner_name=layer.name, value=value
            )
            found.setdefault(key, owner)
    return tuple(found[key] for key in sorted(found))


def plan_operations(
    wanted: Mapping[str, str], live: Mapping[str, str], owned: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The operations that change the live attributes to the wanted ones, sorted by path."""
    found = []
    for key, value in wanted.items():
        if live.get(key) != value:
            found.append({"op": "ADD", "path": build_path(key), "value": value})
    for key, value in owned.items():
        if key not in wanted and live.get(key) == value:
            found.append({"op": "REMOVE", "path": build_path(key), "value": value})
    return sorted(found, key=lambda each: str(each["path"]))


def build_path(key: str) -> str:
    """The JSON pointer of an attribute."""
    return "/remote_attributes/" + key.replace("~", "~0").replace("/", "~1")
