"""The establishing controller: accepts the names of definitions and writes their status.

As in Kubernetes this is a second write, by the server itself, after the one that stored the
definition. It is decided as soon as the first write is published, and responses wait for it, so
that a client that has its response finds the definition established.

A definition whose names are taken has `NamesAccepted: False` and is not served. Its names are
checked again when another definition of its group is deleted.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.custom import accepted_names
from quarterdeck.server.custom.finalizer import DEFINITIONS, Track
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Entry, Store, StoreEvent, StoreKey
from quarterdeck.storage.errors import StorageError
from quarterdeck.storage.retries import WriteRetries

FIELD_MANAGER = "kube-apiserver"
"""The field manager of the conditions and accepted names of a definition."""


class EstablishingController:
    """Writes accepted names and conditions; call `start` once, after the registry is subscribed."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        now: Callable[[], datetime],
        *,
        track: Track,
        retries: WriteRetries,
    ) -> None:
        self._store = store
        self._registry = registry
        self._now = now
        self._track = track
        self._retries = retries
        self._accepted: dict[str, dict[str, Mapping[str, Any]]] = {}
        """The accepted names of every definition, by group and name of the definition."""

    def start(self) -> None:
        """Update the status of all stored definitions, and of each definition that changes."""
        entries = list(self._store.snapshot().range(DEFINITIONS))
        for entry in entries:
            status = kit_json.decode(entry.value).get("status") or {}
            self._record_names(entry.key.name, status.get("acceptedNames") or {})
        self._store.subscribe(self._apply_events)
        for entry in entries:
            self._update_status(entry)

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.key.resource != DEFINITIONS:
                continue
            if event.after is not None:
                self._update_status(event.after)
                continue
            group = _group(event.key.name)
            self._retries.forget(event.key.name)
            self._accepted.get(group, {}).pop(event.key.name, None)
            for entry in list(self._store.snapshot().range(DEFINITIONS)):
                if _group(entry.key.name) == group:
                    self._update_status(entry)

    def _update_status(self, entry: Entry) -> None:
        """Write the status, if it changed; a newer state is handled by its own event.

        A write that fails is decided again later, on the state of that time.
        """
        name, repeat = entry.key.name, functools.partial(self._repeat, entry.key)
        present = self._store.get_pending(entry.key)
        if present is None:
            return
        if present.revision != entry.revision:
            newer = self._store.find_waiting(present.revision)
            if newer is not None:  # it has no event if it fails
                self._retries.watch(name, newer, repeat)
            return
        before: Object = kit_json.decode(entry.value)
        after: Object = {**before, "status": copy_value(before.get("status") or {})}
        accepted_names.update_status(after, self._collect_taken_names(entry.key.name), self._now())
        self._record_names(entry.key.name, after["status"]["acceptedNames"])
        if after["status"] == before.get("status"):
            return
        value = self._track(before, after)
        try:
            ticket = self._store.put(entry.key, build_encoder(value), expected=entry.revision)
        except StorageError:
            self._retries.add(name, repeat)
        else:
            self._retries.watch(name, ticket, repeat)

    def _repeat(self, key: StoreKey) -> None:
        entry = self._store.get(key)
        if entry is not None:
            self._update_status(entry)

    def _record_names(self, name: str, accepted: Mapping[str, Any]) -> None:
        self._accepted.setdefault(_group(name), {})[name] = accepted

    def _collect_taken_names(self, name: str) -> accepted_names.TakenNames:
        group = _group(name)
        others = self._accepted.get(group, {})
        builtin = [r for r in self._registry if r.gvr.group == group and not r.is_custom]
        accepted = [names for other, names in others.items() if other != name]
        return accepted_names.TakenNames.collect(builtin, accepted)


def _group(name: str) -> str:
    """Return the group in the name of a definition: everything after the plural."""
    return name.partition(".")[2]
