"""A definition that is deleted goes after the last of its objects."""

import asyncio
import random
from datetime import UTC, datetime

from quarterdeck.kit import json as kit_json
from quarterdeck.server.custom.definition import CLEANUP_FINALIZER
from quarterdeck.server.custom.finalizer import DEFINITIONS, DefinitionFinalizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Object
from quarterdeck.storage import Store, StoreKey, Ticket, open_memory
from quarterdeck.testing.poll import eventually

NOW = datetime(2026, 11, 15, tzinfo=UTC)
NAME = "gadgets.stable.example.com"
DEFINITION = StoreKey(DEFINITIONS, "", NAME)
GADGET = StoreKey(NAME, "default", "a")


def put(store: Store, key: StoreKey, **metadata: object) -> Ticket:
    value: Object = {"metadata": {"name": key.name, "resourceVersion": "0", **metadata}}
    return store.put(key, lambda revision: kit_json.encode(value))


async def test_a_definition_waits_for_an_object_whose_write_is_under_way() -> None:
    store = open_memory()
    context = Context(now=NOW, random=random.Random(1))
    DefinitionFinalizer(
        store, Registry(), lambda: context, track=lambda before, after: after
    ).start()
    await put(store, DEFINITION)
    marked = put(
        store,
        DEFINITION,
        finalizers=[CLEANUP_FINALIZER],
        deletionTimestamp="2026-11-15T00:00:00Z",
    )
    await asyncio.sleep(0)  # the mark is being committed, and a request creates an object
    created = put(store, GADGET)
    await marked
    await created
    await eventually(lambda: store.get_pending(DEFINITION) is None)
    await store.close()
    assert store.snapshot().count(NAME) == 0
