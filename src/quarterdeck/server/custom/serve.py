"""Definitions in the store and resources in the registry, kept in step.

The callback runs after a definition is committed and before its writer is answered, so whoever
created a definition can use it with the next request.
"""

from collections.abc import Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.server.custom.build import custom_resources
from quarterdeck.server.custom.definition import KIND, bundle_name
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.registry.table import Registry
from quarterdeck.storage import Store, StoreEvent

STORED = f"customresourcedefinitions.{KIND.group}"


class ServedDefinitions:
    """Registers what the definitions in a store bring; call `start` once."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def start(self) -> None:
        """Register what is stored, and follow every change from here on."""
        for entry in self._store.snapshot().range(STORED, None, after=None, limit=None):
            self._serve(kit_json.decode(entry.value))
        self._store.subscribe(self._follow)

    def _follow(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            if event.key.resource != STORED:
                continue
            if event.after is None:
                self._registry.remove(bundle_name(event.key.name))
            else:
                self._serve(kit_json.decode(event.after.value))

    def _serve(self, definition: Object) -> None:
        self._registry.put(
            bundle_name(definition["metadata"]["name"]), custom_resources(definition)
        )
