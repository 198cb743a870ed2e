"""Where consoles of machines are, as the dashboard asks: only of the machine's own VM."""

from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.machine_consoles import ConsoleLocator, parse_console
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.services.hub.web.consoles import ConsoleMissing

API = "hypervisor.hyperfleet.io/v1alpha1"
HYPERVISOR: dict[str, Any] = {
    "apiVersion": API,
    "kind": "HypervisorCluster",
    "metadata": {"name": "lab", "namespace": "default"},
    "spec": {
        "provider": "mock",
        "endpoint": "mock://lab",
        "nodes": ["sim-1"],
        "defaultNetwork": "lan",
        "defaultStorage": "local",
    },
}
CLAIM: dict[str, Any] = {
    "apiVersion": API,
    "kind": "MachineClaim",
    "metadata": {"name": "m1", "namespace": "default"},
    "spec": {"templateRef": {"name": "one"}},
}


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("file:///data/a%20b.log", Path("/data/a b.log")),
        ("unix:///vms/7/console.sock", Path("/vms/7/console.log")),
        ("https://pve:8006/?console=kvm", "https://pve:8006/?console=kvm"),
    ],
)
def test_console_is_a_file_or_an_address(url: str, place: Path | str) -> None:
    assert parse_console(url) == place


async def test_console_that_is_missing_says_why(tmp_path: Path) -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await definitions.install(client.raw, KINDS)
        locator = ConsoleLocator(client, clock=SystemClock(), folder=tmp_path, providers={})
        key = Key("default", "m1")
        with pytest.raises(ConsoleMissing, match='"m1" not found'):
            await locator.locate(key)
        await definitions.apply(client.raw, [HYPERVISOR, CLAIM])
        with pytest.raises(ConsoleMissing, match="machine m1 has no console yet: it is Pending"):
            await locator.locate(key)
        reference = {"hypervisorCluster": "default/lab", "vmId": 100, "node": "sim-1", "name": "m1"}
        statuses = client.resource(MachineClaim.KIND.gvr).subresource("status")
        for phase, message in (
            ("Provisioning", "no console yet: it is Provisioning"),
            ("Ready", "100"),
        ):
            status = {"vmRef": reference, "phase": phase}
            await statuses.patch("m1", {"status": status}, namespace="default")
            with pytest.raises(ConsoleMissing, match=message):
                await locator.locate(key)
