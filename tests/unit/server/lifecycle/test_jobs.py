"""Plans of jobs and stateful sets that would create very many pods."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.kit import json as kit_json
from quarterdeck.server.lifecycle.engine.actions import Create
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.view import DecodedObjects, StoreSource, View
from quarterdeck.server.lifecycle.workloads.jobs import Jobs
from quarterdeck.server.lifecycle.workloads.pods import BURST
from quarterdeck.server.lifecycle.workloads.stateful_sets import StatefulSets
from quarterdeck.storage import StoreKey, open_memory

NOW = datetime(2026, 11, 15, tzinfo=UTC)


async def count_creations(controller: Any, resource: str, **spec: Any) -> int:
    """Count the pods that the first plan of a workload creates."""
    key = StoreKey(resource, "default", "many")
    labels = {"app": "many"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main"}]}}
    value = {
        "apiVersion": "v1",
        "kind": "Many",
        "metadata": {"name": "many", "namespace": "default", "uid": "1", "resourceVersion": "1"},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }
    store = open_memory()
    await store.put(key, lambda revision: kit_json.encode(value))
    view = View(
        StoreSource(store),
        Index(),
        decoded=DecodedObjects(),
        serves=lambda api_version, kind: None,
        now=NOW,
        rng=random.Random(1),
    )
    actions = list(controller.plan(view, key))
    await store.close()
    return sum(isinstance(each, Create) and each.resource == "pods" for each in actions)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"completions": 2**31 - 1, "completionMode": "Indexed", "parallelism": 2}, 2),
        ({"completions": BURST + 9, "completionMode": "Indexed", "parallelism": BURST + 9}, BURST),
        ({"parallelism": BURST + 9}, BURST),
    ],
)
async def test_a_plan_of_a_job_creates_a_limited_number_of_pods(
    spec: dict[str, Any], expected: int
) -> None:
    assert await count_creations(Jobs(), "jobs.batch", **spec) == expected


async def test_a_plan_of_a_parallel_stateful_set_creates_a_limited_number_of_pods() -> None:
    spec = {"replicas": 2**31 - 1, "podManagementPolicy": "Parallel"}
    assert await count_creations(StatefulSets(), "statefulsets.apps", **spec) == BURST
