"""Field ownership: the field managers of `wire.apply` for each resource and endpoint.

A manager is built when first needed, and again when the resource changes (a definition with another
schema is another resource).
"""

from datetime import datetime
from typing import TYPE_CHECKING

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import SCALE, Object, Resource
from quarterdeck.server.request.call import Call
from quarterdeck.wire.status import InternalError

if TYPE_CHECKING:
    from quarterdeck.wire.apply import FieldManager


_UNTRACKED = frozenset({"certificatesigningrequests.certificates.k8s.io"})
"""Resources whose objects have no managedFields in Kubernetes."""


class FieldManagers:
    """The field managers of one server."""

    def __init__(self) -> None:
        self._known: dict[tuple[GVR, str], tuple[Resource, FieldManager]] = {}
        self._newest: tuple[Resource, str, FieldManager] | None = None

    def get(self, core: Core, resource: Resource, subresource: str) -> "FieldManager":
        """Return the field manager of an endpoint."""
        newest = self._newest
        if newest is not None and newest[0] is resource and newest[1] == subresource:
            return newest[2]
        key = (resource.gvr, subresource)
        known = self._known.get(key)
        if known is None or known[0] is not resource:
            known = self._known[key] = (resource, _build_manager(core, resource, subresource))
        self._newest = (resource, subresource, known[1])
        return known[1]


def _build_manager(core: Core, resource: Resource, subresource: str) -> "FieldManager":
    from quarterdeck.wire.apply import FieldManager  # loaded by the first write

    # Kubernetes converts within a group only: owners in another group are forgotten
    relatives = {
        each.api_version: each
        for each in core.registry
        if each.stored_name == resource.stored_name and each.gvr.group == resource.gvr.group
    }

    def convert(value: Object, api_version: str) -> Object | None:
        source = relatives.get(value.get("apiVersion") or "", resource)
        if api_version == source.api_version:
            return value
        other = relatives.get(api_version)
        if other is None:
            return None
        if resource.is_custom and resource.converter is None:
            return {**value, "apiVersion": api_version}
        return other.strategy.to_served(source.strategy.to_stored(copy_value(value)))

    return FieldManager(
        resource.node,
        resource.api_version,
        subresource=subresource,
        reset=[".".join(path) for path in resource.strategy.reset_fields(subresource)],
        versions={version: each.node for version, each in relatives.items()},
        convert=convert if len(relatives) > 1 else None,
    )


def prepare(core: Core, call: Call) -> None:
    """Build the field manager of a call on the event loop, because that reads the registry."""
    if call.resource.group_resource not in _UNTRACKED:
        core.field_managers.get(core, call.resource, call.path.subresource)


def track_new(core: Core, call: Call, value: Object, *, manager: str, now: datetime) -> Object:
    """Record the creator as field manager of a new object; a fast path for custom objects."""
    if call.path.subresource or not call.resource.is_custom:
        return track_fields(core, call, value, None, manager=manager)
    keeper = core.field_managers.get(core, call.resource, "")
    return keeper.update(None, value, manager=manager, now=format_time(now))


def track_fields(
    core: Core, call: Call, value: Object, old: Object | None, *, manager: str
) -> Object:
    """Return the new object with `managedFields` that record the changes of its writer."""
    if call.resource.group_resource in _UNTRACKED:
        value["metadata"].pop("managedFields", None)
        return value
    subresource = call.path.subresource
    if subresource == SCALE and old is not None and not has_replica_owner(call.resource, old):
        return value  # a replica number without an owner is not tracked
    keeper = core.field_managers.get(core, call.resource, subresource)
    # Kubernetes notes no time for what was written through `scale`
    now = "" if subresource == SCALE else format_time(core.clock.now())
    tracked = _drop_empty_times(keeper.update(old, value, manager=manager, now=now))
    if subresource == SCALE and old is not None:
        _disown_zero(call.resource, tracked, old)
    return tracked


def has_replica_owner(resource: Resource, live: Object) -> bool:
    """Whether any manager owns the replica count of an object."""
    config: Object = {}
    resource.strategy.write_scale(config, 1)
    return any(
        _holds(entry.get("fieldsV1") or {}, config)
        for entry in live["metadata"].get("managedFields") or ()
    )


def _holds(fields: Object, config: object) -> bool:
    """Whether a field set contains the single path that a configuration sets."""
    if not isinstance(config, dict):
        return True
    [(name, part)] = config.items()
    inner = fields.get(f"f:{name}")
    return inner is not None and _holds(inner, part)


def has_replicas(resource: Resource, value: Object) -> bool:
    """Whether the replica count of an object is set and not zero, so that a Scale shows it."""
    try:
        scale = resource.strategy.read_scale(value)
    except InternalError:
        return False  # a custom object without one
    return scale is not None and bool(scale.spec_replicas)


def _disown_zero(resource: Resource, value: Object, old: Object) -> None:
    """Remove the owner of a replica count that became zero, because a Scale omits zero."""
    scale = resource.strategy.read_scale(value)
    entries = value["metadata"].get("managedFields")
    if scale is None or scale.spec_replicas or not entries:
        return
    was_zero = not has_replicas(resource, old)
    before = old["metadata"].get("managedFields") or [] if was_zero else []
    kept = [each for each in entries if each.get("subresource") != SCALE or each in before]
    value["metadata"]["managedFields"] = kept
    if not kept:
        del value["metadata"]["managedFields"]


def _drop_empty_times(value: Object) -> Object:
    for entry in value["metadata"].get("managedFields") or ():
        if not entry.get("time"):
            entry.pop("time", None)
    return value


def apply_configuration(
    core: Core, call: Call, config: Object, live: Object | None, *, manager: str, force: bool
) -> Object:
    """Merge an applied configuration into an object, or create an object from it.

    Raises:
        Conflict: if other managers own fields that would change, and `force` is not set.
        ApiError: if the configuration does not fit the schema.
    """
    from quarterdeck.wire.apply import ItemError

    keeper = core.field_managers.get(core, call.resource, call.path.subresource)
    now = "" if call.path.subresource == SCALE else format_time(core.clock.now())
    try:
        applied = keeper.apply(live, config, manager=manager, force=force, now=now)
        return _drop_empty_times(applied)
    except ItemError as error:
        # the stored object has list items that cannot be identified; Kubernetes fails there too
        raise InternalError(f"failed to create typed live object: {error}") from error


def differs_in_times_only(value: Object, old: Object) -> bool:
    """Whether two objects are the same but for the times in `managedFields`."""
    new_metadata, old_metadata = value["metadata"], old["metadata"]
    if any(
        value.get(name) != old.get(name) for name in value.keys() | old.keys() if name != "metadata"
    ):
        return False
    entries = new_metadata.get("managedFields"), old_metadata.get("managedFields")
    if _drop_times(entries[0]) != _drop_times(entries[1]):
        return False
    return _drop_entries(new_metadata) == _drop_entries(old_metadata)


def _drop_times(entries: list[Object] | None) -> list[Object]:
    return [
        {name: each for name, each in entry.items() if name != "time"} for entry in entries or ()
    ]


def _drop_entries(metadata: Object) -> Object:
    return {name: each for name, each in metadata.items() if name != "managedFields"}
