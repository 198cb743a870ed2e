"""Two `quarterdeck run` on one Redis: they share the clusters, and one survives the other."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from free_ports import RUN_FREE_PORTS

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.apis.coordination import Lease
from quarterdeck.apis.core.config import Secret
from quarterdeck.app import definitions
from quarterdeck.client import Client
from quarterdeck.client.config.locate import load_config
from quarterdeck.meta.objects import ObjectMeta, decode
from quarterdeck.runtime.sharding.leases import GROUP, read_snapshot
from quarterdeck.runtime.sharding.rendezvous import choose_member, find_shard
from quarterdeck.runtime.sharding.sharder import SHARDS
from quarterdeck.testing import programs

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
RUN = (
    *("run", "--operators", "clusters", *RUN_FREE_PORTS),
    *("--lease-namespace", "default", "--log-format", "json"),
)
CLUSTERS = tuple(f"cluster-{number}" for number in range(12))
LIMIT_S = 240.0
Replicas = dict[str, asyncio.subprocess.Process]
FAILOVER_S = 30.0
CLOSE_NOTIFY = 64
"""Bytes with which TLS says goodbye, at most: a replica that lets a cluster go sends no more."""


class Road:
    """Forwards connections to a cluster, and notes which process sends on them and when."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.senders: list[int] = []
        """The pids that sent something, in order, each once in a row."""
        self.pids: set[int] = set()
        self._owners: dict[int, int] = {}

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer, pid = writer.get_extra_info("peername")[1], 0
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)

        async def up() -> None:
            nonlocal pid
            while data := await reader.read(65536):
                pid = pid or find_owner(peer, self.pids)  # a long list of sockets may miss one
                if len(data) > CLOSE_NOTIFY and pid and self.senders[-1:] != [pid]:
                    self.senders.append(pid)
                far_writer.write(data)
                await far_writer.drain()

        async def down() -> None:
            while data := await far_reader.read(65536):
                writer.write(data)
                await writer.drain()

        both = [asyncio.ensure_future(each) for each in (up(), down())]
        with contextlib.suppress(OSError):
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        writer.close()
        far_writer.close()


def find_owner(port: int, pids: set[int]) -> int:
    """The process that has a connection from this port of loopback; 0 if it has closed it."""
    wanted = f"0100007F:{port:04X}"
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[1] == wanted:
            inodes.add(f"socket:[{columns[9]}]")
    for pid in pids:
        with contextlib.suppress(OSError):
            for each in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(each) in inodes:
                        return pid
    return 0


@contextlib.asynccontextmanager
async def process(
    folder: Path, *arguments: str, **env: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command of ours; killed at the end if it still runs."""
    log = folder / f"{arguments[0]}-{len(list(folder.iterdir()))}.log"
    with log.open("wb") as output:
        started = await asyncio.create_subprocess_exec(
            *COMMAND, *arguments, cwd=folder, stdout=output, stderr=output, env=os.environ | env
        )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGCONT)
            started.kill()
        await started.wait()


async def until(test: Callable[[], bool], what: str, *, within_s: float = LIMIT_S) -> None:
    async def hold() -> None:
        while not test():  # noqa: ASYNC110 -- state of other processes
            await asyncio.sleep(0.1)

    try:
        await asyncio.wait_for(hold(), within_s)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {what}") from None


async def connect(client: Client, name: str, port: int, kubeconfig: str) -> None:
    metadata = ObjectMeta(name=f"{name}-credentials", namespace="default")
    await client.create(Secret(metadata=metadata, string_data={"kubeconfig": kubeconfig}))
    document: dict[str, Any] = {
        "apiVersion": ClusterConnection.KIND.api_version,
        "kind": "ClusterConnection",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "endpoint": f"https://127.0.0.1:{port}",
            "insecureSkipTLSVerify": True,
            "credentialsRef": {"name": metadata.name, "namespace": "default"},
        },
    }
    await client.resource(ClusterConnection.KIND.gvr).create(document)


async def test_one_replica_takes_over_from_a_paused_or_killed_one_and_never_reads_with_it(
    tmp_path: Path,
) -> None:
    redis_port, api_port = programs.find_free_port(), programs.find_free_port()
    path = tmp_path / "kubeconfig"
    flags = ("--in-memory", "--port", str(api_port), "--write-kubeconfig", str(path))
    redis = f"redis://127.0.0.1:{redis_port}/0"
    async with contextlib.AsyncExitStack() as stack:
        command = programs.build_redis_command(redis_port)
        await stack.enter_async_context(
            programs.run_program_async(command, port=redis_port, folder=tmp_path)
        )
        await stack.enter_async_context(process(tmp_path, "server", *flags))
        await until(path.exists, "the server has written its kubeconfig")
        client = await stack.enter_async_context(Client(load_config(str(path))))
        await definitions.install(client.raw, KINDS)
        roads = {name: Road(api_port) for name in CLUSTERS}
        for name, road in roads.items():
            port = await stack.enter_async_context(road.serve())
            await connect(client, name, port, path.read_text())
        run = (*RUN, "--kubeconfig", str(path))
        replicas = {
            name: await stack.enter_async_context(
                process(tmp_path, *run, "--identity", name, REDIS_URL=redis)
            )
            for name in ("one", "two")
        }
        await check_failover(client, replicas, roads)


async def check_failover(client: Client, replicas: Replicas, roads: dict[str, Road]) -> None:
    for road in roads.values():
        road.pids = {each.pid for each in replicas.values()}
    leader = await wait_shared(client, replicas, roads)
    [follower] = replicas.keys() - {leader}  # a leader that was paused ends: its Lease is lost
    lost, other = replicas[follower], replicas[leader]
    await lose(lost, signal.SIGSTOP, other, roads)
    lost.send_signal(signal.SIGCONT)  # it finds out that its time ran out before it reads anything
    await wait_shared(client, replicas, roads)
    await lose(lost, signal.SIGKILL, other, roads)


async def wait_shared(client: Client, replicas: Replicas, roads: dict[str, Road]) -> str:
    """Wait until both have their shares and read exactly those; returns who leads."""
    missing = ""

    async def find_leader() -> str:
        nonlocal missing
        ended = {name: each.returncode for name, each in replicas.items() if each.returncode}
        assert not ended, f"replicas ended: {ended}"
        listed = await client.resource(Lease.KIND.gvr).list("default")
        leases = [decode(Lease, msgspec.json.encode(each)) for each in listed]
        found = read_snapshot(each for each in leases if GROUP in each.metadata.labels)
        for name, road in roads.items():
            shard = find_shard(name, SHARDS)
            holder = found.shards[shard].holder if shard in found.shards else ""
            reader = replicas.get(holder.partition("_")[0])
            if holder != choose_member(shard, found.members) or reader is None:
                missing = f"{name}: {holder} holds shard {shard}, members are {found.members}"
                return ""
            if road.senders[-1:] != [reader.pid]:
                missing = f"{name}: {reader} holds it, these have read it: {road.senders}"
                return ""
        missing = f"members are {found.members}"
        [leading] = [each for each in leases if each.metadata.name == "quarterdeck"]
        return (leading.spec.holder_identity or "") if len(found.members) == 2 else ""

    try:
        async with asyncio.timeout(LIMIT_S):
            while not (leader := await find_leader()):  # noqa: ASYNC110 -- of other processes
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"not within {LIMIT_S:g} s: {missing}") from None
    return leader


async def lose(
    lost: asyncio.subprocess.Process,
    how: signal.Signals,
    other: asyncio.subprocess.Process,
    roads: dict[str, Road],
) -> None:
    """Each cluster of a lost replica changes hands once, in time; nobody takes turns with it."""
    before = {name: list(road.senders) for name, road in roads.items()}
    lost.send_signal(how)
    await until(
        lambda: all(road.senders[-1] == other.pid for road in roads.values()),
        "the other replica reads every cluster",
        within_s=FAILOVER_S,
    )
    for name, road in roads.items():
        assert len(road.senders) - len(before[name]) <= 1, (name, before[name], road.senders)
