"""The start of a server: registers built-in resources and stored definitions, creates the system
namespaces, and follows changes of definitions.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server import default_priorities, default_roles
from quarterdeck.server.admission.plugins.namespace_lifecycle import IMMORTAL_NAMESPACES
from quarterdeck.server.core import Core
from quarterdeck.server.custom import build_custom_resources, build_definition_resources
from quarterdeck.server.custom.definition import KIND, build_bundle_name
from quarterdeck.server.custom.establishment import FIELD_MANAGER, EstablishingController
from quarterdeck.server.custom.finalizer import DefinitionFinalizer
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.kinds.reviews import build_review_resources
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import STATUS, Object
from quarterdeck.server.system_objects import api_services, flow_control, kubernetes_service
from quarterdeck.storage import Entry, StoreEvent, StoreKey, Ticket
from quarterdeck.storage.retries import WriteRetries

BUILTIN = "built-in"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
NAMESPACES = "namespaces"
SYSTEM_NAMESPACES = IMMORTAL_NAMESPACES | {"kube-node-lease"}
"""Namespaces that a server creates when it starts."""


class _Generation(msgspec.Struct, frozen=True):
    generation: int = 0


class _Definition(msgspec.Struct, frozen=True):
    """A stored definition; its spec is not decoded, as it is only compared and may be large."""

    metadata: _Generation = _Generation()
    spec: msgspec.Raw = msgspec.Raw()
    status: dict[str, Any] | None = None


_DEFINITION = msgspec.json.Decoder(_Definition)


async def bootstrap(core: Core) -> None:
    """Register all resources, follow changes of definitions, and create the system objects."""
    registry = core.registry
    own = {each.gvr: each for each in build_definition_resources()}
    builtin = {each.gvr: each for each in build_builtin_resources(core.options.feature_gates)} | {
        each.gvr: each for each in build_review_resources()
    }
    registry.put(BUILTIN, (builtin | own).values())
    # kubectl takes the first group that has a name, which must be the same after a restart
    definitions = core.store.snapshot().range(DEFINITIONS)
    for entry in sorted(definitions, key=lambda each: each.created_revision):
        _install_or_skip(core, entry)
    core.store.subscribe(lambda events: _apply_events(core, events))
    track = _build_tracker(core)
    DefinitionFinalizer(
        core.store,
        registry,
        lambda: core.build_context("", ""),
        track=track,
        retries=WriteRetries(core.timers.call_later),
    ).start()
    EstablishingController(
        core.store,
        registry,
        core.clock.now,
        track=track,
        retries=WriteRetries(core.timers.call_later),
    ).start()
    # written together, so that they wait for the disk once
    tickets = [*_create_namespaces(core), *default_priorities.reconcile(core)]
    if core.options.has_system_objects:
        tickets += kubernetes_service.create_service(core)
        tickets += flow_control.reconcile(core)
        tickets += api_services.reconcile(core)
    if core.options.has_roles:
        tickets += default_roles.reconcile(core)
    for ticket in tickets:
        await ticket


def _build_tracker(core: Core) -> Callable[[Object, Object], Object]:
    """Build the function that records the server as field manager of a definition's status."""

    def track(before: Object, after: Object) -> Object:
        resource = core.registry.find_by_kind(KIND)
        assert resource is not None  # registered above
        keeper = core.field_managers.get(core, resource, STATUS)
        return keeper.update(
            before, after, manager=FIELD_MANAGER, now=format_time(core.clock.now())
        )

    return track


def _apply_events(core: Core, events: Sequence[StoreEvent]) -> None:
    """Serve, update or remove the kind of a definition as soon as the write is stored."""
    for event in events:
        if event.key.resource != DEFINITIONS:
            continue
        if event.after is None:
            core.registry.remove(build_bundle_name(event.key.name))
        elif event.before is None or _get_served_state(event.before) != _get_served_state(
            event.after
        ):
            _install(core, event.after, _find_definition_revision(core, event, event.after))


def _find_definition_revision(core: Core, event: StoreEvent, after: Entry) -> int:
    """Return the revision of the last change that affects the objects of a definition."""
    served = core.registry.get_bundle(build_bundle_name(event.key.name))
    if served and event.before is not None and _has_same_rules(event.before, after):
        return served[0].definition_revision
    return event.revision


def _install_or_skip(core: Core, entry: Entry) -> None:
    """Serve a stored definition; one that fails is reported and left out, never fatal."""
    try:
        _install(core, entry, 0)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        asyncio.get_running_loop().call_exception_handler(
            {
                "message": f"definition {entry.key.name} is not served: its schema does not"
                " compile; correct or delete it",
                "exception": error,
            }
        )


def _install(core: Core, entry: Entry, definition_revision: int) -> None:
    definition: Object = kit_json.decode(entry.value)
    resources = [
        msgspec.structs.replace(each, definition_revision=definition_revision)
        for each in build_custom_resources(definition)
    ]
    core.registry.put(build_bundle_name(entry.key.name), resources)


def _has_same_rules(before: Entry, after: Entry) -> bool:
    """Whether two versions of a definition have the same spec and accepted names."""
    old, new = _DEFINITION.decode(before.value), _DEFINITION.decode(after.value)
    old_names = (old.status or {}).get("acceptedNames")
    if old_names != (new.status or {}).get("acceptedNames"):
        return False
    # equal specs may have their members in another order
    return old.spec == new.spec or kit_json.decode(old.spec) == kit_json.decode(new.spec)


def _get_served_state(entry: Entry) -> tuple[object, ...]:
    """Return the parts of a definition that affect serving; others need no new compilation."""
    definition = _DEFINITION.decode(entry.value)
    status = definition.status or {}
    conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    return (
        definition.metadata.generation,
        get_object_meta(entry).deletion_timestamp,
        bytes(definition.spec),
        status.get("acceptedNames"),
        status.get("storedVersions"),
        conditions,
    )


def _create_namespaces(core: Core) -> list[Ticket]:
    return [
        core.store.put(key, _build_namespace(core, key.name), expected=0)
        for name in sorted(SYSTEM_NAMESPACES)
        if core.store.get(key := StoreKey(NAMESPACES, "", name)) is None
    ]


def _build_namespace(core: Core, name: str) -> Callable[[int], bytes]:
    """Build the encoder of a new system namespace."""
    value: dict[str, Any] = {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": generate_uid(core.random),
            "resourceVersion": "",
            "creationTimestamp": format_time(core.clock.now()),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    return build_encoder(value)
