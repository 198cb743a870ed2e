"""Claims and volumes go when nobody uses them."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.kit import json as kit_json
from quarterdeck.server.lifecycle.controllers.volume_protection import VolumeProtection
from quarterdeck.server.lifecycle.engine.actions import Update
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.view import DecodedObjects, StoreSource, View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreEvent, StoreKey, open_memory

NOW = datetime(2026, 11, 15, tzinfo=UTC)
CLAIM = StoreKey("persistentvolumeclaims", "g", "c")
VOLUME = StoreKey("persistentvolumes", "", "v")
POD = StoreKey("pods", "g", "p")


def going(key: StoreKey, finalizer: str, **members: Any) -> Object:
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "finalizers": [finalizer],
        "deletionTimestamp": "2026-11-15T00:00:00Z",
        "resourceVersion": "1",
    }
    return {"metadata": metadata, **members}


def pod(phase: str) -> Object:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
    return {
        "metadata": {"name": "p", "namespace": "g"},
        "spec": {"nodeName": "n", "volumes": [claim]},
        "status": {"phase": phase},
    }


def view(store: Store) -> View:
    return View(
        StoreSource(store),
        Index(),
        decoded=DecodedObjects(),
        serves=lambda api_version, kind: None,
        now=NOW,
        rng=random.Random(1),
    )


async def put(store: Store, key: StoreKey, value: Object) -> None:
    await store.put(key, lambda revision: kit_json.encode(value))


@pytest.mark.parametrize(("phase", "goes"), [("Running", False), ("Succeeded", True)])
async def test_a_claim_waits_for_the_pods_that_run(phase: str, goes: bool) -> None:
    store = open_memory()
    await put(store, CLAIM, going(CLAIM, "kubernetes.io/pvc-protection"))
    await put(store, POD, pod(phase))
    actions = VolumeProtection().plan(view(store), CLAIM)
    assert [isinstance(each, Update) for each in actions] == [True] * goes
    for each in actions:
        assert isinstance(each, Update)
        assert "finalizers" not in each.value["metadata"]
    await store.close()


@pytest.mark.parametrize(("phase", "goes"), [("Bound", False), ("Released", True)])
async def test_a_volume_waits_until_it_is_not_bound(phase: str, goes: bool) -> None:
    store = open_memory()
    finalizer = "kubernetes.io/pv-protection"
    await put(store, VOLUME, going(VOLUME, finalizer, status={"phase": phase}))
    assert bool(VolumeProtection().plan(view(store), VOLUME)) is goes
    await store.close()


async def test_the_claims_of_a_pod_that_is_gone_are_looked_at() -> None:
    store = open_memory()
    seen: list[StoreEvent] = []
    store.subscribe(seen.extend)
    await put(store, POD, pod("Running"))
    await store.delete(POD, lambda revision: b"{}")
    assert list(VolumeProtection().find_keys(seen[-1], Index())) == [CLAIM]
    await store.close()
