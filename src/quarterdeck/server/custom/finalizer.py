"""The finalizer of definitions: deletes the objects of a definition that is being deleted.

Deleting a definition only marks it: a finalizer keeps it until its objects are gone. The finalizer
deletes them page by page, so that many objects do not block the event loop, waits for objects that
have finalizers of their own, and then removes itself from the definition. It reacts to committed
events, and starts again from the first object, later, after a write that failed.

Its first write sets a condition that the deletion is in progress. If other finalizers keep the
definition, its last write sets a condition that all objects are gone.
"""

import functools
from collections.abc import Callable, Iterable, Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.custom import accepted_names
from quarterdeck.server.custom.definition import CLEANUP_FINALIZER, KIND, build_bundle_name
from quarterdeck.server.registry import deletion
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Object, Resource
from quarterdeck.storage import Entry, Store, StoreEvent, StoreKey, Ticket
from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.retries import WriteRetries
from quarterdeck.wire.query import DeleteOptions

DEFINITIONS = f"customresourcedefinitions.{KIND.group}"
_PAGE_BYTES = 1024 * 1024
PAGE_SIZE = 500

_IN_PROGRESS = (
    "Terminating",
    True,
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)
_COMPLETED = ("Terminating", False, "InstanceDeletionCompleted", "removed all instances")

Condition = tuple[str, bool, str, str]
"""Type, whether it is true, reason and message."""
Cursor = tuple[str, str]
Track = Callable[[Object, Object], Object]
"""Takes the old and the new definition; returns the new one with `managedFields` updated."""


class DefinitionFinalizer:
    """Deletes the objects of terminating definitions; call `start` once, before any request."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        context: Callable[[], Context],
        *,
        track: Track,
        retries: WriteRetries,
    ) -> None:
        self._store = store
        self._registry = registry
        self._context = context
        self._track = track
        self._retries = retries
        self._terminating: dict[str, Cursor | None] = {}
        """Terminating definitions by name, with the last object whose deletion was started."""

    def start(self) -> None:
        """Continue deletions that an earlier run started, and follow the store from now on."""
        for entry in self._store.snapshot().range(DEFINITIONS):
            self._track_terminating(entry)
        self._store.subscribe(self._apply_events)
        for name in tuple(self._terminating):
            self._start_over(name)

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        touched: dict[str, None] = {}
        for event in events:
            if event.key.resource == DEFINITIONS:
                if event.after is None or not self._track_terminating(event.after):
                    self._terminating.pop(event.key.name, None)
                    self._retries.forget(event.key.name)
                else:
                    self._attempt(event.key.name, self._begin)
                    touched[event.key.name] = None
            elif event.key.resource in self._terminating:
                if event.before is None:  # server-side apply may still create objects
                    self._terminating[event.key.resource] = None
                touched[event.key.resource] = None
        for name in touched.keys() & self._terminating.keys():
            self._attempt(name, self._delete_next_page)

    def _start_over(self, name: str) -> None:
        """Continue a deletion from the first object, of which nothing may have been written."""
        if name in self._terminating:
            self._terminating[name] = None
            self._attempt(name, self._begin)
            self._attempt(name, self._delete_next_page)

    def _attempt(self, name: str, decide: Callable[[str], Ticket | None]) -> None:
        """Decide writes, of which the last is returned; start over later if they fail."""
        repeat = functools.partial(self._start_over, name)
        try:
            ticket = decide(name)
        except StorageError:
            self._retries.add(name, repeat)
            return
        if ticket is not None:
            self._retries.watch(name, ticket, repeat)

    def _track_terminating(self, entry: Entry) -> bool:
        if not _is_terminating(entry):
            return False
        self._terminating.setdefault(entry.key.name, None)
        return True

    def _begin(self, name: str) -> Ticket | None:
        """Set the condition that objects are being deleted; does nothing if it is set already."""
        entry = self._store.get_pending(StoreKey(DEFINITIONS, "", name))
        if entry is None or not _is_terminating(entry):
            return None
        before: Object = kit_json.decode(entry.value)
        after = self._with_condition(before, _IN_PROGRESS)
        if after["status"] == before.get("status"):
            return None
        value = self._track(before, after)
        return self._store.put(entry.key, build_encoder(value), expected=entry.revision)

    def _with_condition(self, definition: Object, condition: Condition) -> Object:
        changed: Object = {**definition, "status": copy_value(definition.get("status") or {})}
        conditions = changed["status"]["conditions"] = changed["status"].get("conditions") or []
        accepted_names.set_condition(conditions, condition, self._context().now)
        return changed

    def _delete_next_page(self, name: str) -> Ticket | None:
        """Delete the next page of objects; if none is left, remove the finalizer."""
        snapshot = self._store.snapshot()
        if snapshot.count(name) == 0:
            return None if self._has_pending(name) else self._release(name)
        last: Ticket | None = None
        while last is None:
            page = _take_page(snapshot.range(name, after=self._terminating[name], limit=PAGE_SIZE))
            if not page:
                self._has_pending(name)
                return None
            self._terminating[name] = (page[-1].key.namespace, page[-1].key.name)
            for entry in page:
                last = self._delete_object(entry, name) or last
        return last

    def _has_pending(self, name: str) -> bool:
        """Whether an object is being written; looks again later, as a failed write has no event."""
        is_pending = self._store.has_pending(name)
        if is_pending:
            self._retries.add(name, functools.partial(self._start_over, name))
        return is_pending

    def _delete_object(self, entry: Entry, name: str) -> Ticket | None:
        """Delete one object, or mark it as deleted; None if nothing was written."""
        present = self._store.get_pending(entry.key)
        resource = next(iter(self._registry.get_bundle(build_bundle_name(name))), None)
        if present is None:
            return None
        value: Object = kit_json.decode(present.value)
        is_kept, is_changed = self._begin_deletion(resource, value)
        if not is_kept:
            return self._store.delete(entry.key, build_encoder(value), expected=present.revision)
        if is_changed:
            return self._store.put(entry.key, build_encoder(value), expected=present.revision)
        return None

    def _begin_deletion(self, resource: Resource | None, value: Object) -> tuple[bool, bool]:
        if resource is None:
            return False, True  # no version is served: no client could remove its finalizers
        return deletion.begin_deletion(resource, value, DeleteOptions(), context=self._context())

    def _release(self, name: str) -> Ticket | None:
        key = StoreKey(DEFINITIONS, "", name)
        entry = self._store.get_pending(key)
        if entry is None:
            return None
        definition: Object = kit_json.decode(entry.value)
        metadata = definition["metadata"]
        others = [each for each in metadata.get("finalizers") or () if each != CLEANUP_FINALIZER]
        if others == metadata.get("finalizers"):
            return None
        if others:
            completed = self._with_condition(definition, _COMPLETED)
            value = self._track(definition, completed)
            value["metadata"] = {**value["metadata"], "finalizers": others}
            return self._store.put(key, build_encoder(value), expected=entry.revision)
        return self._store.delete(key, build_encoder(definition), expected=entry.revision)


def _is_terminating(entry: Entry) -> bool:
    """Whether a definition is being deleted and waits for its objects."""
    known = get_object_meta(entry)
    return bool(known.deletion_timestamp) and CLEANUP_FINALIZER in (known.finalizers or ())


def _take_page(entries: Iterable[Entry]) -> list[Entry]:
    """Take the first entries up to a total size, because each of them is decoded."""
    page: list[Entry] = []
    size = 0
    for entry in entries:
        page.append(entry)
        size += len(entry.value)
        if size > _PAGE_BYTES:
            break
    return page
