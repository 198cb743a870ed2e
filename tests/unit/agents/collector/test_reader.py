"""What a collector sends of a cluster of which it could read only some parts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.agents.collector.reader import CycleReader
from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.hubstate.collect.cluster import ClusterCollector
from quarterdeck.hubstate.collect.collected import Collected, CollectionRequest
from quarterdeck.hubstate.push.batches import read_cluster
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.kit.clock import VirtualClock

AT = datetime(2026, 5, 1, tzinfo=UTC)


def build(**parts: Any) -> Collected:
    given: dict[str, Any] = {
        "at": AT,
        "nodes": (),
        "totals": ClusterTotals(timestamp="", namespaces=2, deployments=3, pods=5),
        "info": {"api_url": "x", "version": "4.16.3", "platform": "OpenShift"},
        "namespaces": ("a", "b"),
        "resources": None,
        "operators": (),
        "cluster_operators": (),
        "problems": {},
    }
    return Collected(**(given | parts))


async def test_parts_that_failed_are_left_out_and_totals_keep_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = build(
        totals=ClusterTotals(timestamp="", pods=6),
        info={"api_url": "x", "version": "v1.32", "platform": "Kubernetes"},
        namespaces=None,
        operators=None,
        cluster_operators=None,
        problems=dict.fromkeys(("namespaces", "resources", "cluster version"), "500"),
    )
    readings = [build(), broken, broken]

    async def collect(_: ClusterCollector, wanted: CollectionRequest) -> Collected:
        return readings.pop(0)

    monkeypatch.setattr(ClusterCollector, "collect", collect)
    clock = VirtualClock()
    settings = CollectorSettings(cluster_name="east", interval_s=1.0)
    async with Client(ClusterConfig(server="https://x"), clock=clock) as client:
        reader = CycleReader(client, settings, clock=clock)
        for _ in range(3):
            batch = await reader.read()
    assert batch is not None
    found = read_cluster(batch, AT)
    assert found is not None
    assert (found.totals.namespaces, found.totals.deployments, found.totals.pods) == (2, 3, 6)
    assert found.info == build().info
    assert (found.namespaces, found.operators, found.cluster_operators) == (None, None, None)
