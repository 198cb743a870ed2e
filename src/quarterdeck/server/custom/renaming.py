"""Names that were taken are free again when their definition goes: whoever wanted them gets them.

A definition that came second waits with `NamesAccepted: False` and is not served. When one of its
group is gone its names are judged again, and it is served from then on if they are free now.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from quarterdeck.kit import json as kit_json
from quarterdeck.server.custom import naming
from quarterdeck.server.custom.cleanup import DEFINITIONS
from quarterdeck.server.custom.definition import bundle_name
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.registry.table import Registry
from quarterdeck.storage import Entry, Store, StoreEvent
from quarterdeck.storage.errors import StorageError


class FreedNames:
    """Judges waiting definitions again; `start` once, after the registry follows the store."""

    def __init__(self, store: Store, registry: Registry, now: Callable[[], datetime]) -> None:
        self._store = store
        self._registry = registry
        self._now = now

    def start(self) -> None:
        """Follow the store from here on."""
        self._store.subscribe(self._follow)

    def _follow(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.key.resource == DEFINITIONS and event.after is None:
                group = event.key.name.partition(".")[2]
                for entry in list(self._store.snapshot().range(DEFINITIONS)):
                    if entry.key.name.partition(".")[2] == group:
                        self._judge(entry, group)

    def _judge(self, entry: Entry, group: str) -> None:
        definition: Object = kit_json.decode(entry.value)
        if naming.condition_is_true(definition, "NamesAccepted"):
            return
        own = self._registry.bundle(bundle_name(entry.key.name))
        naming.settle(definition, naming.TakenNames.of(self._registry, group, own), self._now())

        def encode(revision: int) -> bytes:
            definition["metadata"]["resourceVersion"] = str(revision)
            return kit_json.encode(definition)

        if naming.condition_is_true(definition, "NamesAccepted"):
            try:
                self._store.put(entry.key, encode, expected=entry.revision)
            except StorageError:
                return  # somebody changed it just now, and with it its names were judged
