"""How much memory a collector process takes."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ingester_hub import CLOCK, Hub, running_hub

from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.app.cluster_samples import DEFAULT_METRIC_SOURCES
from quarterdeck.app.inline_kubeconfig import encode_config
from quarterdeck.client.client import Client
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.notices import build_source_notice
from quarterdeck.hubstate.writes import AddMembers, SetValue
from quarterdeck.kit import json
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.testing.poll import eventually

LIMIT_MB = 80
POD_SOURCE = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [
        {"name": "phase", "path": ".status.phase"},
        {"name": "node", "path": ".spec.nodeName"},
        {"name": "image", "path": ".spec.containers[0].image"},
    ],
    "computed": [{"name": "isUp", "expression": "phase == 'Running'", "type": "boolean"}],
    "aggregations": [{"name": "byPhase", "function": "count", "groupBy": "phase"}],
    "collection": {"intervalSeconds": 30},
}


async def add_sources(hub: Hub) -> None:
    """The sources that every hub ships, and one about all pods."""
    specs = {each["metadata"]["name"]: each["spec"] for each in DEFAULT_METRIC_SOURCES}
    for name, spec in {**specs, "pods": POD_SOURCE}.items():
        definition = {"name": name, "namespace": "d"}
        await hub.state.commit(
            [
                SetValue(keys.source("d", name), json.encode(definition)),
                SetValue(keys.source("d", name) + ":spec", json.encode(spec)),
                AddMembers(keys.ENABLED_SOURCES, (f"d/{name}",)),
                build_source_notice("compiled", f"d/{name}", CLOCK.now(), {}),
            ]
        )


@contextlib.asynccontextmanager
async def collecting(folder: Path, hub: Hub, config: bytes) -> AsyncIterator[int]:
    """A collector process; its id."""
    (folder / "kubeconfig").write_bytes(config)
    environment = {
        **os.environ,
        "CLUSTER_NAME": "east",
        "INGESTER_ADDRESS": f"127.0.0.1:{hub.ingester.port}",
        "INGESTER_TLS_ENABLED": "false",
        "COLLECTOR_TOKEN": await hub.issue("east"),
        "COLLECT_INTERVAL": "1s",
        "BUFFER_DIR": str(folder / "buffer"),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from quarterdeck.cli.main import main; main()", "collector"),
        *("--kubeconfig", str(folder / "kubeconfig")),
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        await process.wait()


def read_peak_mb(pid: int) -> float:
    """The most memory that a process has had at once."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel does not tell")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "pods", [300, pytest.param(5000, marks=pytest.mark.full, id="five thousand")]
)
async def test_a_collector_stays_below_80_mb(tmp_path: Path, pods: int) -> None:
    async with running_hub() as hub, EmbeddedClusters(clock=CLOCK) as factory:
        await add_sources(hub)
        config = await factory.create("east")
        async with Client(config, clock=CLOCK) as client:
            await populate(client, Profile(nodes=10, pods=pods), clock=CLOCK)
        async with collecting(tmp_path, hub, encode_config(config)) as pid:
            key = keys.custom("east", "d/pods", "resources")

            async def has_stored() -> bool:
                rows = await hub.state.get(key)
                return rows is not None and hub.ingester.statistics()["stored"] >= 5

            await eventually(has_stored, within_s=100)
            peak_mb = await asyncio.to_thread(read_peak_mb, pid)
        assert peak_mb < LIMIT_MB
