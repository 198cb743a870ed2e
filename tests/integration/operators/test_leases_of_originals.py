"""Leases of the originals: ours takes over the same object, and leaves it free for the way back."""

import asyncio
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.meta.identity import GVR
from quarterdeck.runtime import Manager
from quarterdeck.runtime.manager.manager import LeaderElection
from quarterdeck.wire.query import ListOptions

LEASES = GVR("coordination.k8s.io", "v1", "leases")
ORIGINAL = "original-7d9c6b5f4-x2x9z_2f1c0f0e-4f0b-4d0e-8f63-0c8a3f1d2b11"


def lease(name: str) -> dict[str, Any]:
    """A Lease as controller-runtime leaves it when its process was killed."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "holderIdentity": ORIGINAL,
            "leaseDurationSeconds": 1,
            "acquireTime": "2025-06-01T00:00:00.000000Z",
            "renewTime": "2025-06-02T00:00:00.000000Z",
            "leaseTransitions": 4,
        },
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("elide-operator-leader", id="applications"),
        pytest.param("0fcf8538.grafana.com", id="pipelines"),
        pytest.param("cluster-controller.clusterpulse.io", id="clusters"),
        pytest.param("2017f724.hyperfleet.io", id="machines"),
        pytest.param("311a9540.illm.io", id="experiments"),
    ],
)
async def test_the_lease_of_an_original_is_taken_over_and_released(name: str) -> None:
    async with Cluster() as cluster:
        leases = cluster.client.resource(LEASES)
        before = await leases.create(lease(name))
        election = LeaderElection(name=name, namespace="default", identity="ours")
        manager = Manager(cluster.client, election=election)
        async with asyncio.timeout(240), manager.running():
            taken = await _wait_until_held(cluster)
            assert taken["metadata"]["uid"] == before["metadata"]["uid"]
            assert taken["spec"]["leaseTransitions"] == 5
        after = await leases.get(name, "default")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert not after["spec"].get("holderIdentity")


async def _wait_until_held(cluster: Cluster) -> dict[str, Any]:
    options = ListOptions(watch=True)
    async with cluster.client.resource(LEASES).watch("default", options) as events:
        async for _, found in events:
            if found["spec"].get("holderIdentity") == "ours":
                return found
    raise AssertionError("the watch ended")
