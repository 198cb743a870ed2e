"""Carries out the actions of plans.

Revision, generation, field managers and finalizers behave as for a client's write, but objects are
not validated by the rules of their kind, and no authorization is needed. Objects that are large are
computed in a thread. A write is durable when its ticket is done. If the object changed meanwhile,
the write is a conflict and the plan runs again.
"""

from collections.abc import Callable

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.identity import GVK, GroupVersion
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.core import Core
from quarterdeck.server.core.worker import DECODING_SPEED
from quarterdeck.server.lifecycle.engine.actions import (
    Apply,
    Create,
    Delete,
    Record,
    Remove,
    Update,
)
from quarterdeck.server.lifecycle.engine.events import build_event
from quarterdeck.server.lifecycle.engine.view import DecodedObjects
from quarterdeck.server.registry.codec import build_encoder, decode_value
from quarterdeck.server.registry.conversion import ConversionNeeded
from quarterdeck.server.registry.deletion import begin_deletion, is_finished
from quarterdeck.server.registry.name_generator import generate_name, generate_uid
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.write.field_managers import differs_in_times_only
from quarterdeck.storage import Entry, RevisionConflict, StoreKey, Ticket
from quarterdeck.wire.query import DeleteOptions

_IDENTITY = ("name", "namespace")
_NAME_ATTEMPTS = 8
_EVENTS = "events"
SYSTEM_USER = User(
    name="system:kube-controller-manager", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP)
)
"""The user of all writes of the life cycle."""


class StaleObject(Exception):
    """Raised when an object has changed since the plan read it; the plan must run again."""


class Writer:
    """Writes for the life cycle of one server."""

    def __init__(self, core: Core, decoded: DecodedObjects) -> None:
        self._core = core
        self._decoded = decoded
        self._resources: dict[str, Resource] = {}
        self._generation = -1
        self._event_fields: dict[tuple[str, ...], Object] = {}

    # actions -------------------------------------------------------------------------------------

    async def create(self, action: Create, manager: str) -> Ticket | None:
        """Create an object; None if the name exists or the kind is not served.

        Raises:
            ApiError: if admission refuses it.
        """
        attributes, admission = await self._prepare_create(action, manager), self._core.admission
        if attributes is None:
            return None
        if admission.has_async_plugins:
            await admission.admit_async(attributes)
            await admission.validate_async(attributes)
            attributes.has_waited = True
        await admission.validate(attributes)
        admission.charge(attributes)
        assert attributes.value is not None  # a creation always has one
        return self._put_new(attributes.resource, attributes.value, attributes.namespace)

    async def _prepare_create(self, action: Create, manager: str) -> AdmissionAttributes | None:
        """Default a new object and run mutating admission; None if it cannot be created."""
        core = self._core
        resource = self._find_resource(action.resource)
        if resource is None:
            return None
        namespace = action.value["metadata"].get("namespace") or ""
        context = core.build_context(SYSTEM_USER.name, namespace)
        data = kit_json.encode(action.value)
        value = await core.worker.run(len(data), lambda: self._complete(resource, data, manager))
        attributes = self._build_attributes(resource, value, namespace=namespace)
        await core.admission.admit(attributes)
        value = attributes.value or value
        metadata = value["metadata"]
        metadata["uid"] = generate_uid(core.random)
        metadata["creationTimestamp"] = format_time(context.now)
        if resource.strategy.has_generation:
            metadata["generation"] = 1
        resource.strategy.prepare_create(value, context)
        return attributes

    def _complete(self, resource: Resource, data: bytes, manager: str) -> Object:
        """Fill in the defaults and `managedFields` of a new object."""
        value = decode_value(data)
        resource.strategy.default(value)
        return self._track(resource, value, None, manager=manager)

    async def update(self, action: Update, manager: str) -> Ticket | None:
        """Replace an object; None if nothing changes.

        Raises:
            StaleObject: if the object has changed since the plan read it.
        """
        entry = self._get_current(action.key, action.revision)
        value = {**action.value, "metadata": {**action.value["metadata"]}}
        resource = self._find_resource_of(value)
        if resource is None:
            return self._core.store.put(entry.key, build_encoder(value), expected=entry.revision)
        old, value = await self._core.worker.run(
            len(entry.value),
            lambda: self._change(action, resource, entry, value=value, manager=manager),
        )
        if is_finished(resource, value):
            last = _build_encoder({**old, "metadata": {**old["metadata"]}}, resource)
            return self._core.store.delete(entry.key, last, expected=entry.revision)
        if differs_in_times_only(value, old):
            return None
        encode = _build_encoder(value, resource)
        return self._core.store.put(entry.key, encode, expected=entry.revision)

    def _change(
        self, action: Update, resource: Resource, entry: Entry, *, value: Object, manager: str
    ) -> tuple[Object, Object]:
        """Return the stored object, and the changed one with generation and `managedFields`.

        The stored object is the one that the plan has read, if it is still cached. It shares its
        unchanged parts with the new one, so comparing both is fast.
        """
        old = self._decoded.find(entry) or decode_value(entry.value)
        subresource = action.subresource
        context = self._core.build_context(SYSTEM_USER.name, action.key.namespace, subresource)
        if resource.strategy.bumps_generation(value, old, context):
            value["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
        return old, self._track(resource, value, old, manager=manager, subresource=subresource)

    async def apply(self, action: Apply, manager: str) -> Ticket | None:
        """Apply members to an object; None if it does not exist or nothing changes."""
        core = self._core
        entry = core.store.get_pending(action.key)
        resource = self._find_resource(action.key.resource)
        if entry is None or resource is None:
            return None
        old, value = await core.worker.run(
            len(entry.value), lambda: self._merge(action, resource, entry, manager)
        )
        if differs_in_times_only(value, old):
            return None
        return core.store.put(entry.key, _build_encoder(value, resource), expected=entry.revision)

    def _merge(
        self, action: Apply, resource: Resource, entry: Entry, manager: str
    ) -> tuple[Object, Object]:
        """Return the stored object, and the one with the members applied."""
        core = self._core
        old = decode_value(entry.value)
        metadata = {name: old["metadata"][name] for name in _IDENTITY if name in old["metadata"]}
        config = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            **action.value,
        }
        keeper = core.field_managers.get(core, resource, action.subresource)
        now = format_time(core.clock.now())
        return old, keeper.apply(old, config, manager=manager, force=True, now=now)

    async def delete(self, action: Delete) -> Ticket | None:
        """Delete an object, or mark it as deleted; None if nothing is written.

        Raises:
            StaleObject: if the object may be deleted only as the plan read it, and has changed.
        """
        store = self._core.store
        entry = store.get_pending(action.key)
        if entry is None:
            return None
        if action.revision is not None and entry.revision != action.revision:
            raise StaleObject(str(action.key))
        value = await self._decode(entry)
        resource = self._find_resource_of(value) or self._find_resource(action.key.resource)
        if value["metadata"].get("uid") != action.uid:
            return None
        if resource is None:
            return self._remove_unserved(action, entry, value)
        options = DeleteOptions(
            propagation_policy=action.policy, grace_period_seconds=action.grace_s
        )
        context = self._core.build_context(SYSTEM_USER.name, action.key.namespace)
        is_kept, is_changed = begin_deletion(resource, value, options, context=context)
        encode = _build_encoder(value, resource)
        if not is_kept:
            return store.delete(entry.key, encode, expected=entry.revision)
        return store.put(entry.key, encode, expected=entry.revision) if is_changed else None

    def _remove_unserved(self, action: Delete, entry: Entry, value: Object) -> Ticket | None:
        """Remove an object of a kind that is not served: nobody could take its finalizers off."""
        if not action.with_unserved:
            return None
        return self._core.store.delete(entry.key, build_encoder(value), expected=entry.revision)

    async def remove(self, action: Remove) -> Ticket:
        """Remove an object at once.

        Raises:
            StaleObject: if the object has changed since the plan read it.
        """
        entry = self._get_current(action.key, action.revision)
        value = await self._decode(entry)
        encode = _build_encoder(value, self._find_resource_of(value))
        return self._core.store.delete(entry.key, encode, expected=entry.revision)

    async def record(self, action: Record, manager: str) -> Ticket | None:
        """Create an Event, or increase the count of an existing one."""
        event = build_event(action, format_time(self._core.clock.now()))
        metadata = event["metadata"]
        key = StoreKey(_EVENTS, metadata["namespace"], metadata["name"])
        entry = self._core.store.get_pending(key)
        if entry is None:
            return await self._put_event(event, manager)
        old: Object = kit_json.decode(entry.value)
        value = {
            **old,
            "count": (old.get("count") or 1) + 1,
            "lastTimestamp": event["lastTimestamp"],
        }
        return await self.update(Update(key=key, revision=entry.revision, value=value), manager)

    # parts ---------------------------------------------------------------------------------------

    async def _put_event(self, event: Object, manager: str) -> Ticket | None:
        """Create an Event; its `managedFields` depend only on its members, and are cached."""
        shape = (manager, *event["involvedObject"], *event["source"])
        entry = self._event_fields.get(shape)
        resource = self._find_resource(_EVENTS)
        if resource is None:
            return None
        if entry is None:
            tracked = self._track(resource, event, None, manager=manager)
            found = tracked["metadata"].get("managedFields") or [{}]
            entry = self._event_fields[shape] = found[0]
        metadata = event["metadata"]
        now = format_time(self._core.clock.now())
        attributes = self._build_attributes(resource, event, namespace=metadata["namespace"])
        await self._core.admission.admit(attributes)
        event = attributes.value or event
        metadata = event["metadata"]
        metadata["uid"] = generate_uid(self._core.random)
        metadata["creationTimestamp"] = now
        metadata["managedFields"] = [{**entry, "time": now}]
        return self._put_new(resource, event, metadata["namespace"])

    async def _decode(self, entry: Entry) -> Object:
        cost = len(entry.value) // DECODING_SPEED
        return await self._core.worker.run(cost, lambda: decode_value(entry.value))

    def _put_new(self, resource: Resource, value: Object, namespace: str) -> Ticket | None:
        metadata, store = value["metadata"], self._core.store
        base = "" if metadata.get("name") else metadata.get("generateName") or ""
        for _ in range(_NAME_ATTEMPTS):
            if base:
                metadata["name"] = generate_name(base, self._core.random)
            key = StoreKey(resource.stored_name, namespace, metadata["name"])
            try:
                return store.put(key, _build_encoder(value, resource), expected=0)
            except RevisionConflict:
                if not base:
                    return None
        return None

    def _get_current(self, key: StoreKey, revision: int) -> Entry:
        entry = self._core.store.get_pending(key)
        if entry is None or entry.revision != revision:
            raise StaleObject(str(key))
        return entry

    def _track(
        self,
        resource: Resource,
        value: Object,
        old: Object | None,
        *,
        manager: str,
        subresource: str = "",
    ) -> Object:
        core = self._core
        if resource.converter is None and resource.strategy.to_stored(value) is not value:
            return value
        keeper = core.field_managers.get(core, resource, subresource)
        try:
            return keeper.update(old, value, manager=manager, now=format_time(core.clock.now()))
        except ConversionNeeded:
            return value  # managedFields stay as they are: no controller waits for a webhook

    def _build_attributes(
        self, resource: Resource, value: Object, *, namespace: str
    ) -> AdmissionAttributes:
        return AdmissionAttributes(
            verb="create",
            resource=resource,
            namespace=namespace,
            name=value["metadata"].get("name") or "",
            user=SYSTEM_USER,
            value=value,
        )

    def _find_resource(self, stored_name: str) -> Resource | None:
        """Find a resource that serves the objects stored under a name."""
        registry = self._core.registry
        if self._generation != registry.generation:
            self._generation = registry.generation
            self._resources = {}
            for each in registry:
                if each.stored_name not in self._resources or each.strategy.stored_as_served:
                    self._resources[each.stored_name] = each
        return self._resources.get(stored_name)

    def _find_resource_of(self, value: Object) -> Resource | None:
        """Find the resource that serves an object in the version it is stored in."""
        group, version = GroupVersion.parse(value.get("apiVersion") or "")
        return self._core.registry.find_by_kind(GVK(group, version, value.get("kind") or ""))


def _build_encoder(value: Object, resource: Resource | None) -> Callable[[int], bytes]:
    """Build the encoder; an object of a kind with a conversion webhook keeps its version."""
    has_webhook = resource is not None and resource.converter is not None
    return build_encoder(value, None if has_webhook else resource)
