"""A hub process with many connected agents, measured from outside: CPU, memory, time to the ack."""

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import accounting
from bench.process import Child
from bench.series import Figures, Missed
from quarterdeck.kit.free_port import find_free_port

ROWS = 500
_START_S = 30.0


def measure(count: int, interval_s: int) -> Figures:
    """What `count` agents that push every `interval_s` seconds cost the hub."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        redis = stack.enter_context(_redis(folder))
        history = stack.enter_context(_victoria_metrics(folder))
        hub = stack.enter_context(_Hub(count, folder, redis, history))
        idle = hub.memory_bytes()
        agents = stack.enter_context(_Agents(count, interval_s, hub.port, folder))
        time.sleep(interval_s)  # every agent pushes once before anything counts
        agents.ask("reset")
        before, began = accounting.cpu_s(hub.pid), time.monotonic()
        time.sleep(interval_s)
        spent, elapsed = accounting.cpu_s(hub.pid) - before, time.monotonic() - began
        told = json.loads(agents.ask("report"))
        if told["refused"] or told["batches"] < count * 0.9:
            raise Missed(f"{told['batches']} of {count} batches, {told['refused']} refused")
        return {
            "cores": spent / elapsed,
            "p50": told["p50"],
            "p99": told["p99"],
            "memory": (hub.memory_bytes() - idle) / count / 1000,
        }


class _Hub(Child):
    def __init__(self, count: int, folder: str, redis: int, history: int) -> None:
        arguments = [str(count), folder, str(redis), str(history)]
        super().__init__(["-m", "bench.peers.hub_ingester", *arguments])
        self.port = int(self.line() or 0)
        if not self.port:
            raise Missed("the ingester did not start")


class _Agents(Child):
    def __init__(self, count: int, interval_s: int, port: int, folder: str) -> None:
        arguments = [str(count), str(ROWS), str(interval_s), str(port), folder]
        super().__init__(["-m", "bench.peers.hub_agents", *arguments])
        if self.line().strip() != "ready":
            raise Missed("the agents could not connect")


@contextlib.contextmanager
def _redis(folder: str) -> Iterator[int]:
    port = find_free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with _server("redis-server", options, port=port, folder=folder):
        yield port


@contextlib.contextmanager
def _victoria_metrics(folder: str) -> Iterator[int]:
    port = find_free_port()
    data = Path(folder) / "victoria-metrics"
    options = [f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={data}"]
    with _server("victoria-metrics", options, port=port, folder=folder):
        yield port


@contextlib.contextmanager
def _server(name: str, options: list[str], *, port: int, folder: str) -> Iterator[None]:
    program = shutil.which(name)
    if program is None:
        raise Missed(f"{name} is not installed: make tools")
    process = subprocess.Popen(
        [program, *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port, name)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, name: str) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        time.sleep(0.05)
    raise Missed(f"{name} did not listen within {_START_S:g} s")
