"""The whole operator on Proxmox VE, as the fake server speaks it: a fleet from nothing to gone."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fake_pve import FakePve
from fake_pve.server import TOKEN, TOKEN_ID

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.meta.objects import Object, ObjectMeta
from quarterdeck.operators import machines
from quarterdeck.runtime import Manager
from quarterdeck.testing import eventually

OPERATOR = "11111111-2222-3333-4444-555555555555"
KEYS = ("token-id", "token-secret", "ca")

pytestmark = pytest.mark.slow


def _selector(key: str) -> dict[str, str]:
    return {"name": "pve", "key": key}


async def _create(client: Client, kind: type[Object], name: str, spec: Any) -> None:
    await client.resource(kind.KIND.gvr).create(
        {
            "apiVersion": kind.KIND.api_version,
            "kind": kind.KIND.kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": spec,
        }
    )


async def _set_up(client: Client, fake: FakePve) -> None:
    await definitions.install(client.raw, KINDS)
    data = dict(zip(KEYS, (TOKEN_ID, TOKEN, fake.certificate), strict=True))
    metadata = ObjectMeta(name="pve", namespace="default")
    await client.create(Secret(metadata=metadata, string_data=data))
    await _create(
        client,
        HypervisorCluster,
        "pve",
        {
            "provider": "proxmox",
            "endpoint": f"{fake.endpoint}/api2/json",
            "credentials": {
                "tokenId": _selector("token-id"),
                "tokenSecret": _selector("token-secret"),
            },
            "tls": {"caCertificate": _selector("ca")},
            "nodes": ["pve1", "pve2"],
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
            "vmidRange": {"start": 200, "end": 299},
        },
    )
    await _create(
        client,
        HypervisorMachineTemplate,
        "debian",
        {
            "hypervisorClusterRef": {"name": "pve"},
            "template": {"proxmox": {"templateName": "debian-12", "linkedClone": True}},
            "resources": {"cpu": 2, "memory": "2Gi", "disk": "20Gi"},
            "bootstrap": {"method": "none"},
            "cloudInit": {"sshAuthorizedKeys": ["ssh-ed25519 AAAA me"]},
        },
    )


def _owned(fake: FakePve) -> list[int]:
    with fake.lock:
        return sorted(vmid for vmid, vm in fake.state.vms.items() if not vm.is_template)


async def _hold(test: Callable[[], Awaitable[bool]]) -> None:
    await eventually(test, within_s=150.0, every_s=0.2)


async def test_fleet_on_proxmox_comes_and_goes(tmp_path: Path) -> None:
    with FakePve(tmp_path).running() as fake:
        fake.state.add_template(9000, "debian-12")
        fake.state.agents = {vmid: [f"10.0.0.{vmid - 100}"] for vmid in range(200, 300)}
        async with Cluster() as cluster:
            client = cluster.client
            await _set_up(client, fake)
            manager = Manager(client, name="test", graceful_shutdown_timeout_s=1.0)
            machines.register(manager, operator_uid=OPERATOR)
            async with manager.running():
                spec = {"replicas": 2, "image": "debian", "selector": {"app": "web"}}
                await _create(client, Fleet, "web", spec)

                async def is_ready() -> bool:
                    return (await client.get(Fleet, "web", "default")).status.ready_replicas == 2

                await _hold(is_ready)
                vmids = _owned(fake)
                assert len(vmids) == 2
                assert all(200 <= vmid <= 299 for vmid in vmids)
                with fake.lock:
                    tags = [fake.state.vms[vmid].config["tags"] for vmid in vmids]
                    assert {fake.state.vms[vmid].status for vmid in vmids} == {"running"}
                assert all("hf-managed" in each for each in tags)
                await client.resource(Fleet.KIND.gvr).delete("web", "default")

                async def is_gone() -> bool:
                    return not await client.list(MachineClaim)

                await _hold(is_gone)
                assert _owned(fake) == []
