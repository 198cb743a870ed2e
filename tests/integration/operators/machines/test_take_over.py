"""Objects of the hyperfleet operator: taken over with status and finalizers, and given back."""

from typing import Any

import originals
from tests.integration.operators.machines.world import World, condition, open_world

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.names import CLUSTER_FINALIZER, TEMPLATE_FINALIZER
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.meta.objects import Object, ObjectMeta

GROUP = "hypervisor.hyperfleet.io"
ENDPOINT = "https://pve.example.com:8006"
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "ConnectionSuccessful",
    "message": "Successfully connected",
    "lastTransitionTime": "2025-06-01T00:00:00Z",
}


def document(kind: type[Object], name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **more.pop("metadata", {})}
    return {
        "apiVersion": kind.KIND.api_version,
        "kind": kind.KIND.kind,
        "metadata": metadata,
        "spec": spec,
        **more,
    }


def cluster(nodes: list[str]) -> dict[str, Any]:
    return document(
        HypervisorCluster,
        "lab",
        {
            "provider": "proxmox",
            "endpoint": ENDPOINT,
            "credentials": {
                "tokenId": {"name": "pve", "key": "token-id"},
                "tokenSecret": {"name": "pve", "key": "token-secret"},
            },
            "nodes": nodes,
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
        },
        status={"conditions": [READY], "connectedNodes": len(nodes)},
    )


TEMPLATE = document(
    HypervisorMachineTemplate,
    "small",
    {
        "hypervisorClusterRef": {"name": "lab"},
        "template": {"proxmox": {"templateId": 9000, "clone": True, "linkedClone": True}},
        "resources": {"cpu": 2, "memory": "4Gi", "disk": "50G"},
        "attestation": {"method": "join-token"},
        "bootstrap": {
            "method": "runner-token",
            "config": {"github": {"url": "https://github.com/example"}},
        },
    },
    metadata={"finalizers": [TEMPLATE_FINALIZER]},
    status={"templateAvailable": True, "validationStatus": "Valid"},
)
SCAFFOLDS = [
    {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "scaffold", "namespace": "default"},
        "spec": {"foo": "bar"},
    }
    for kind in ("MachineClaim", "RunnerPool")
]
"""The original declares these kinds and does nothing with them; ours need a template."""


async def left_behind(world: World) -> dict[str, dict[str, Any]]:
    """What the original leaves when it is switched off; then our definitions come."""
    await originals.put_definitions(world.client, GROUP)
    metadata = ObjectMeta(name="pve", namespace="default")
    data = {"token-id": "root@pam!ci", "token-secret": "s3cret"}
    await world.client.create(Secret(metadata=metadata, string_data=data))
    nodes = list(world.simulators.get(ENDPOINT).nodes)
    documents = (cluster(nodes), TEMPLATE, *SCAFFOLDS)
    found = {each["kind"]: await originals.leave_object(world.client, each) for each in documents}
    await definitions.install(world.client.raw, KINDS)
    return found


async def finish_take_over(world: World) -> None:
    """Wait until our operator has reached the hypervisor and looked at the template."""

    async def is_ours() -> bool:
        lab = await world.get(HypervisorCluster, "lab")
        small = await world.get(HypervisorMachineTemplate, "small")
        return bool(lab.status.observed_generation and small.status.observed_generation)

    await world.until(is_ours)


async def test_clusters_and_templates_are_taken_over() -> None:
    async with open_world() as world:
        before = await left_behind(world)
        secret = await world.client.get(Secret, "pve", "default")
        vms = sorted(each.name for each in world.simulators.get(ENDPOINT).list_vm_infos())
        async with world.operator(providers={"proxmox": world.simulators.open}):
            await finish_take_over(world)
            lab = await world.get(HypervisorCluster, "lab")
            assert lab.metadata.uid == before["HypervisorCluster"]["metadata"]["uid"]
            assert lab.metadata.generation == 1
            assert condition(lab).status == "True", lab.status
            assert lab.status.connected_nodes == len(lab.spec.nodes)
            small = await world.get(HypervisorMachineTemplate, "small")
            assert small.metadata.uid == before["HypervisorMachineTemplate"]["metadata"]["uid"]
            assert small.metadata.finalizers == (TEMPLATE_FINALIZER,)
            assert (small.metadata.generation, small.spec.resources.disk) == (1, "50G")
            after = await world.client.get(Secret, "pve", "default")
            assert after.metadata.resource_version == secret.metadata.resource_version
        assert sorted(each.name for each in world.simulators.get(ENDPOINT).list_vm_infos()) == vms


async def test_the_original_can_have_them_back() -> None:
    async with open_world() as world:
        before = await left_behind(world)
        async with world.operator(providers={"proxmox": world.simulators.open}):
            await finish_take_over(world)
        await originals.put_definitions(world.client, GROUP)
        clusters = world.client.resource(HypervisorCluster.KIND.gvr)
        held = (await clusters.get("lab", "default"))["metadata"]["finalizers"]
        assert held == [CLUSTER_FINALIZER]  # the original would never take it off
        await clusters.patch("lab", {"metadata": {"finalizers": None}}, namespace="default")
        for kind in ("HypervisorCluster", "HypervisorMachineTemplate"):
            found = await originals.write_unchanged(world.client, before[kind])
            assert found["metadata"]["uid"] == before[kind]["metadata"]["uid"]
            assert found["spec"] == before[kind]["spec"]
        assert found["metadata"]["finalizers"] == [TEMPLATE_FINALIZER]
