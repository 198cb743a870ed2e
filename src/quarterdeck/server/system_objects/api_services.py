"""The APIServices of everything this server serves itself, as Kubernetes' aggregator lists them.

Those of built-in versions are created at start. Those of custom versions come and go with their
definitions. An APIService that names a Service belongs to another server and is left alone.
"""

import functools
from collections.abc import Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.identity import GroupVersion
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.system_objects.objects import complete_metadata, create_missing
from quarterdeck.storage import StorageError, StoreEvent, StoreKey, Ticket
from quarterdeck.storage.retries import WriteRetries

API_SERVICES = "apiservices.apiregistration.k8s.io"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_OWN_GROUP = "apiregistration.k8s.io"
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
_ON_START, _FOLLOWS = "onstart", "true"
_CUSTOM_PRIORITY = (1000, 100)
_GROUP_PRIORITIES = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
_VERSION_PRIORITIES = {
    GroupVersion("", "v1"): 1,
    GroupVersion("autoscaling", "v2"): 30,
    GroupVersion("flowcontrol.apiserver.k8s.io", "v1"): 21,
}
_PRIORITIES_BY_VERSION = {"v1beta1": 9, "v1beta2": 9, "v1alpha1": 1, "v1alpha3": 1}
_DEFAULT_VERSION_PRIORITY = 15


def reconcile(core: Core) -> list[Ticket]:
    """Create the APIServices that are missing, and follow definitions from now on."""
    own = [_build(core, each, _ON_START) for each in _list_versions(core, is_custom=False)]
    tickets = create_missing(core, API_SERVICES, own)
    retries = WriteRetries(core.timers.call_later)
    _update_custom(core, retries)
    core.store.subscribe(lambda events: _apply_events(core, retries, events))
    return tickets


def _apply_events(core: Core, retries: WriteRetries, events: Sequence[StoreEvent]) -> None:
    if any(each.key.resource == _DEFINITIONS for each in events):
        _update_custom(core, retries)


def _update_custom(core: Core, retries: WriteRetries) -> None:
    """Write the APIServices of custom versions; what fails is decided again later."""
    repeat = functools.partial(_update_custom, core, retries)
    try:
        ticket = _write_custom(core)
    except StorageError:
        retries.add(API_SERVICES, repeat)
        return
    if ticket is not None:
        retries.watch(API_SERVICES, ticket, repeat)


def _write_custom(core: Core) -> Ticket | None:
    """Create and delete APIServices by what is served now; return the ticket of the last write."""
    last: Ticket | None = None
    served = {_get_name(each): each for each in _list_versions(core, is_custom=True)}
    store = core.store
    for name, version in served.items():
        key = StoreKey(API_SERVICES, "", name)
        if store.get_pending(key) is None:
            value = complete_metadata(core, _build(core, version, _FOLLOWS))
            last = store.put(key, build_encoder(value), expected=0)
    for entry in list(store.snapshot().range(API_SERVICES)):
        present = store.get_pending(entry.key)
        if present is None or entry.key.name in served:
            continue
        value = kit_json.decode(present.value)
        if (value["metadata"].get("labels") or {}).get(_MANAGED) == _FOLLOWS:
            last = store.delete(entry.key, build_encoder(value), expected=present.revision)
    return last


def _list_versions(core: Core, *, is_custom: bool) -> list[GroupVersion]:
    found = {
        GroupVersion(each.gvr.group, each.gvr.version)
        for each in core.registry
        if each.is_custom == is_custom and each.gvr.group != _OWN_GROUP
    }
    if is_custom:
        found -= set(_list_versions(core, is_custom=False))
    return sorted(found)


def _get_name(version: GroupVersion) -> str:
    return f"{version.version}.{version.group}"


def _build(core: Core, version: GroupVersion, managed: str) -> Object:
    group_priority, version_priority = _find_priorities(version, managed)
    spec: Object = {"version": version.version}
    if version.group:
        spec["group"] = version.group
    return {
        "kind": "APIService",
        "apiVersion": f"{_OWN_GROUP}/v1",
        "metadata": {"name": _get_name(version), "labels": {_MANAGED: managed}},
        "spec": spec
        | {"groupPriorityMinimum": group_priority, "versionPriority": version_priority},
        "status": {
            "conditions": [
                {
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": format_time(core.clock.now()),
                    "reason": "Local",
                    "message": "Local APIServices are always available",
                }
            ]
        },
    }


def _find_priorities(version: GroupVersion, managed: str) -> tuple[int, int]:
    if managed == _FOLLOWS:
        return _CUSTOM_PRIORITY
    by_version = _PRIORITIES_BY_VERSION.get(version.version, _DEFAULT_VERSION_PRIORITY)
    return (
        _GROUP_PRIORITIES.get(version.group, _CUSTOM_PRIORITY[0]),
        _VERSION_PRIORITIES.get(version, by_version),
    )
