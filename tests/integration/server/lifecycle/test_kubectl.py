"""What people type: rollouts, waits and deletions with the real kubectl."""

import asyncio
import shutil
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.server.options import ServerOptions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]


async def kubectl(cluster: Cluster, line: str, manifest: str = "") -> str:
    process = await asyncio.create_subprocess_exec(
        "kubectl",
        f"--kubeconfig={cluster.kubeconfig}",
        *line.split(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate(manifest.encode())
    assert process.returncode == 0, output.decode()
    return output.decode()


def simulated(**options: Any) -> Cluster:
    return Cluster(options=ServerOptions(simulate_workloads=True, **options))


async def test_rollout_history_and_undo() -> None:
    async with simulated() as cluster:
        await kubectl(cluster, "create deployment web --image=example/app:1 --replicas=3")
        assert "successfully rolled out" in await kubectl(
            cluster, "rollout status deployment/web --timeout=240s"
        )
        await kubectl(cluster, "set image deployment/web app=example/app:2")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        history = await kubectl(cluster, "rollout history deployment/web")
        assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2"]
        await kubectl(cluster, "rollout undo deployment/web")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        images = await kubectl(cluster, "get pods -o=jsonpath={.items[*].spec.containers[0].image}")
        assert images.split() == ["example/app:1"] * 3
        await kubectl(cluster, "rollout restart deployment/web")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        await kubectl(cluster, "wait deployment/web --for=condition=Available --timeout=240s")


@pytest.mark.parametrize("cascade", ["foreground", "background"])
async def test_delete_takes_all_along(cascade: str) -> None:
    async with simulated() as cluster:
        await kubectl(cluster, "create deployment web --image=example/app:1")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        await kubectl(cluster, f"delete deployment web --cascade={cascade} --timeout=240s")
        assert "No resources found" in await kubectl(cluster, "get pods,replicasets")


async def test_delete_namespace_waits_for_the_end() -> None:
    async with simulated() as cluster:
        await kubectl(cluster, "create namespace team")
        await kubectl(cluster, "-n team create deployment web --image=example/app:1")
        await kubectl(cluster, "-n team create configmap settings")
        await kubectl(cluster, "delete namespace team --timeout=240s")
        assert "team" not in await kubectl(cluster, "get namespaces")


async def test_wait_for_a_job() -> None:
    async with simulated() as cluster:
        await kubectl(cluster, "create job work --image=example/app:1")
        await kubectl(cluster, "wait job/work --for=condition=Complete --timeout=240s")
        assert "Completed" in await kubectl(cluster, "get pods")


async def test_drain_moves_pods_to_another_node() -> None:
    async with simulated(simulated_nodes=2) as cluster:
        await kubectl(cluster, "create deployment web --image=example/app:1 --replicas=6")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        await kubectl(cluster, "drain quarterdeck-node-0 --timeout=240s")
        await kubectl(cluster, "rollout status deployment/web --timeout=240s")
        nodes = await kubectl(cluster, "get pods -o=jsonpath={.items[*].spec.nodeName}")
        assert set(nodes.split()) == {"quarterdeck-node-1"}
