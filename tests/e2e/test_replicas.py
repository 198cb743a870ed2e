"""Two `quarterdeck run` on one Redis: they share the clusters, and one survives the other."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.apis.core.config import Secret
from quarterdeck.app import definitions
from quarterdeck.client import Client
from quarterdeck.client.config.locate import load_config
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.testing import programs

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
RUN = (
    *("run", "--operators", "clusters", "--health-port", "0", "--metrics-port", "0"),
    *("--lease-namespace", "default", "--log-format", "json"),
)
CLUSTERS = tuple(f"cluster-{number}" for number in range(8))
LIMIT_S = 120.0
FAILOVER_S = 30.0


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
        pid = find_owner(writer.get_extra_info("peername")[1], self.pids)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)

        async def up() -> None:
            while data := await reader.read(65536):
                if not self.senders or self.senders[-1] != pid:
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
    """The process that has a connection from this port of loopback; 0 if none of them."""
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


async def test_one_replica_takes_over_from_a_killed_one_and_none_reads_a_cluster_with_it(
    tmp_path: Path,
) -> None:
    redis_port, api_port = programs.free_port(), programs.free_port()
    path = tmp_path / "kubeconfig"
    flags = ("--in-memory", "--port", str(api_port), "--write-kubeconfig", str(path))
    redis = f"redis://127.0.0.1:{redis_port}/0"
    async with contextlib.AsyncExitStack() as stack:
        command = programs.redis_server(redis_port)
        await stack.enter_async_context(
            programs.running_beside(command, port=redis_port, folder=tmp_path)
        )
        await stack.enter_async_context(process(tmp_path, "server", *flags))
        await until(path.exists, "the server has written its kubeconfig")
        client = await stack.enter_async_context(Client(load_config(str(path))))
        await definitions.install(client.raw, KINDS)
        roads = {name: Road(api_port) for name in CLUSTERS}
        for name, road in roads.items():
            port = await stack.enter_async_context(road.serve())
            await connect(client, name, port, path.read_text())
        await check_failover(tmp_path, stack, roads, ("--kubeconfig", str(path)), redis)


async def check_failover(
    folder: Path,
    stack: contextlib.AsyncExitStack,
    roads: dict[str, Road],
    flags: tuple[str, ...],
    redis: str,
) -> None:
    pair = [
        await stack.enter_async_context(process(folder, *RUN, *flags, REDIS_URL=redis))
        for _ in range(2)
    ]
    pids = {each.pid for each in pair}
    for road in roads.values():
        road.pids = pids
    await until(
        lambda: (
            {road.senders[-1] for road in roads.values() if road.senders} == pids
            and all(road.senders for road in roads.values())
        ),
        "both replicas read clusters",
    )
    first = pair[0]
    before = {name: list(road.senders) for name, road in roads.items()}
    first.send_signal(signal.SIGKILL)
    await first.wait()
    await until(
        lambda: all(road.senders[-1] == pair[1].pid for road in roads.values()),
        "the other replica reads every cluster",
        within_s=FAILOVER_S,
    )
    for name, road in roads.items():  # each cluster changed hands, and nobody took turns with it
        assert 0 not in road.senders
        assert len(road.senders) <= 3, (name, before[name], road.senders)
        assert len(road.senders) - len(before[name]) <= 1, (name, before[name], road.senders)
