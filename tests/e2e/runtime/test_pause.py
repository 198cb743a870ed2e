"""A leader whose process is stopped and continued: the standby works, the old one ends."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from quarterdeck.apis.coordination import Lease
from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.testing.background import BackgroundCluster
from quarterdeck.testing.poll import eventually

OPERATOR = """
import asyncio, sys
from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client, load_config
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Controller, LeaderElection, LostLeadership, Manager, LeaseTiming

ME = sys.argv[1]

async def reconcile(config, ctx):
    if config.metadata.labels.get("role") == "source":
        name = f"{ctx.key.name}-copy"
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name=name), data={"by": ME, **config.data}))

async def main():
    async with Client(load_config()) as client:
        timing = LeaseTiming(lease_duration_s=2.0, renew_deadline_s=1.2, retry_period_s=0.2)
        election = LeaderElection("lock", "default", identity=ME, timing=timing)
        manager = Manager(
            client,
            name="copier",
            election=election,
            events="off",
            graceful_shutdown_timeout_s=1,
        )
        manager.add(Controller(reconcile=reconcile, for_=ConfigMap))
        await manager.run()

try:
    asyncio.run(main())
except LostLeadership:
    sys.exit(7)
"""


@contextlib.contextmanager
def operator(script: Path, name: str, kubeconfig: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "LOG_LEVEL": "error"}
    process = subprocess.Popen([sys.executable, str(script), name], env=environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


async def copied(client: Client, name: str, by: str) -> None:
    metadata = ObjectMeta(name=name, namespace="default", labels={"role": "source"})
    await client.create(ConfigMap(metadata=metadata, data={"text": name}))
    await has_copied(client, name, by)


async def has_copied(client: Client, name: str, by: str) -> None:
    async def is_there() -> bool:
        copy = await client.get(ConfigMap, f"{name}-copy", "default")
        return copy.data == {"by": by, "text": name}

    await eventually(is_there)


async def test_a_leader_that_was_paused_ends_and_writes_nothing(
    cluster: BackgroundCluster, client: Client, tmp_path: Path
) -> None:
    script = tmp_path / "copier.py"
    script.write_text(OPERATOR)
    with (
        operator(script, "one", cluster.kubeconfig) as one,
        operator(script, "two", cluster.kubeconfig) as two,
    ):
        processes = {"one": one, "two": two}

        async def holder() -> str:
            return (await client.get(Lease, "lock", "default")).spec.holder_identity or ""

        async def is_held() -> bool:
            return bool(await holder())

        await eventually(is_held)
        leader = await holder()
        standby = "two" if leader == "one" else "one"
        await copied(client, "a", leader)
        processes[leader].send_signal(signal.SIGSTOP)
        await copied(client, "b", standby)
        await has_copied(client, "a", standby)  # a new object comes before those of the list
        before = {c.key: c.resource_version for c in await client.list(ConfigMap, "default")}
        processes[leader].send_signal(signal.SIGCONT)
        assert await asyncio.to_thread(processes[leader].wait, 10) == 7
        after = {c.key: c.resource_version for c in await client.list(ConfigMap, "default")}
        assert after == before
        lease = await client.get(Lease, "lock", "default")
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == (standby, 1)
        await copied(client, "c", standby)
