"""`quarterdeck up` as a user meets it: how soon it is there, how much it holds, how fast it works.

Nothing else starts an API server, workloads and operators in one process, so there is no peer.
"""

import asyncio
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.process import Child
from bench.suite import OURS, Case, Contenders, Scale, Suite

FLAGS = ("--port", "--http-port", "--health-port", "--metrics-port", "--fleet-port")
AT_ONCE = 50


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(quick=20, standard=1_000, full=2_000)
    idle_s = scale.pick(quick=0.5, standard=10.0, full=30.0)
    return [
        Case(name="exec to ready", unit="s", open=lambda _: _starting(_ready_s)),
        Case(name="memory when ready", unit="MB", open=lambda _: _starting(_memory_mb)),
        Case(
            name="Applications until all are Running",
            unit="s",
            open=lambda _: _converging(_converge, count),
            note=f"{count:,} of one replica, created {AT_ONCE} at once, on disk",
        ),
        Case(
            name="Pipelines until all are on the fleet server",
            unit="s",
            open=lambda _: _converging(_synchronise, count),
            note=f"{count:,}, created {AT_ONCE} at once, on disk on both sides",
        ),
        Case(
            name="processor time when idle",
            unit="%",
            open=lambda _: _starting(lambda folder: _idle_percent(folder, idle_s)),
            note=f"over {idle_s:.0f} s",
        ),
    ]


class Up(Child):
    """A running `quarterdeck up`."""

    def __init__(self, folder: str) -> None:
        self.began = time.perf_counter()
        ports = [word for flag in FLAGS for word in (flag, "0")]
        super().__init__(["-m", "quarterdeck.cli", "up", "--data-dir", folder, *ports])
        self.first = self.line()
        self.ready_s = time.perf_counter() - self.began
        if "is ready" not in self.first:
            self.close()
            raise RuntimeError("quarterdeck up did not start")
        while not re.search("export KUBECONFIG", self.line()):
            pass

    def close(self) -> None:
        """End it as a user does."""
        os.kill(self.pid, signal.SIGINT)
        super().close()


@contextmanager
def _starting(measure: Callable[[str], float]) -> Iterator[Contenders]:
    """Each round in a folder of its own, whose certificates exist: the second start and later."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "data"
        Up(str(prepared)).close()
        yield {OURS: lambda: measure(str(prepared))}


def _ready_s(folder: str) -> float:
    with Up(folder) as up:
        return up.ready_s


def _memory_mb(folder: str) -> float:
    with Up(folder) as up:
        return up.memory_bytes() / 1e6


def _idle_percent(folder: str, seconds: float) -> float:
    with Up(folder) as up:
        time.sleep(0.5)
        before = up.cpu_s()
        time.sleep(seconds)
        return 100 * (up.cpu_s() - before) / seconds


@contextmanager
def _converging(
    converge: Callable[[Path, int], Coroutine[None, None, float]], count: int
) -> Iterator[Contenders]:
    def measure() -> float:
        with tempfile.TemporaryDirectory() as folder, Up(f"{folder}/data"):
            return asyncio.run(converge(Path(folder) / "data" / "kubeconfig", count))

    yield {OURS: measure}


async def _converge(kubeconfig: Path, count: int) -> float:
    from quarterdeck.apis.applications.v1 import Application, ApplicationSpec
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import load_config
    from quarterdeck.kit.tasks import fan_out
    from quarterdeck.meta.objects import ObjectMeta
    from quarterdeck.wire.query import ListOptions

    async with Client(load_config(kubeconfig)) as client:

        async def make(number: int) -> None:
            metadata = ObjectMeta(name=f"a{number}", namespace="default")
            spec = ApplicationSpec(replicas=1, image="nginx")
            await client.create(Application(metadata=metadata, spec=spec))

        began = time.perf_counter()
        options = ListOptions(watch=True, field_selector="status.phase=Running")
        async with client.watch(Application, "default", options) as events:
            making = asyncio.ensure_future(fan_out(range(count), make, limit=AT_ONCE))
            running: set[str] = set()
            async for event in events:
                running.add(event.object.metadata.name)
                if len(running) == count:
                    break
            await making
        return time.perf_counter() - began


async def _synchronise(kubeconfig: Path, count: int) -> float:
    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSpec
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import load_config
    from quarterdeck.kit.tasks import fan_out
    from quarterdeck.meta.conditions import is_true
    from quarterdeck.meta.objects import ObjectMeta
    from quarterdeck.wire.query import ListOptions

    contents = 'prometheus.scrape "self" {\n  targets    = []\n  forward_to = []\n}\n'
    async with Client(load_config(kubeconfig)) as client:

        async def make(number: int) -> None:
            metadata = ObjectMeta(name=f"p{number}", namespace="default")
            spec = PipelineSpec(contents=contents, matchers=(f"cell={number}",))
            await client.create(Pipeline(metadata=metadata, spec=spec))

        began = time.perf_counter()
        async with client.watch(Pipeline, "default", ListOptions(watch=True)) as events:
            making = asyncio.ensure_future(fan_out(range(count), make, limit=AT_ONCE))
            ready: set[str] = set()
            async for event in events:
                if is_true(event.object.status.conditions, "Ready"):
                    ready.add(event.object.metadata.name)
                if len(ready) == count:
                    break
            await making
        return time.perf_counter() - began


SUITE = Suite(
    name="up",
    title="quarterdeck up: from nothing to a thousand applications and pipelines",
    cases=cases,
    versions=("uvloop", "msgspec"),
    is_process=True,
)
