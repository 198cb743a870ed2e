"""`quarterdeck up` as a user meets it: how soon it is there, how much it holds, how fast it works.

Nothing else starts an API server, workloads and operators in one process, so there is no peer.
"""

import asyncio
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import accounting, machine
from bench.peers.api_servers import LOAD_CORE, SERVER_CORE
from bench.process import Child
from bench.series import Figures, Runs, Series, case
from bench.suite import OURS, Case, Missing, Scale, Suite
from quarterdeck.app.option import UP, Port
from quarterdeck.app.resolution import list_fields

FLAGS = tuple(
    field.flag for field in list_fields() if field.type is Port and UP in field.option.commands
)
"""Every port of `quarterdeck up`."""
COMMANDS = ("--help", "get --help")
AT_ONCE = 50
_REST_LOOK_S = 0.25
_REST_LOOKS = 6
"""At rest after 1.5 s below the share: the bootstrap service is loaded a second after the start."""
_REST_SHARE = 0.02
_REST_LIMIT_S = 20.0


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(quick=20, standard=1_000, full=2_000)
    idle_s = scale.pick(quick=0.5, standard=5.0, full=30.0)
    rounds = scale.pick(quick=1, standard=3, full=5)
    starts = Series(lambda: _starting(idle_s), rounds=rounds)
    return [
        case(starts, "exec to ready", "s", "ready"),
        case(starts, "memory when ready", "MB", "memory"),
        case(starts, "ready to at rest, processor time", "CPU s", "settling"),
        case(starts, "processor time when idle", "% of a core", "idle", note=f"over {idle_s:g} s"),
        *_command_cases(rounds),
        *_converging_cases(
            "Applications until all are Running",
            _converge,
            count,
            rounds=rounds,
            note=f"{count:,} of one replica, created {AT_ONCE} at once, on disk",
        ),
        *_converging_cases(
            "Pipelines until all are on the fleet server",
            _synchronize,
            count,
            rounds=rounds,
            note=f"{count:,}, created {AT_ONCE} at once, on disk on both sides",
        ),
    ]


def _command_cases(rounds: int) -> list[Case]:
    alone, reading = Series(_calling, rounds=rounds), Series(_reading, rounds=rounds)
    return [
        *(case(alone, f"quarterdeck {words}", "ms", words) for words in COMMANDS),
        case(reading, "get of a namespace's ConfigMaps, on our server", "ms", "ms"),
        case(reading, "get of a namespace's ConfigMaps, processor time", "CPU ms", "cpu"),
    ]


@contextmanager
def _calling() -> Iterator[Runs]:
    """Commands that talk to no server, from their start to their end."""

    def run(figures: Figures) -> None:
        for words in COMMANDS:
            figures[words] = _call([sys.executable, "-m", "quarterdeck.cli", *words.split()])[0]

    yield {OURS: run}


@contextmanager
def _reading() -> Iterator[Runs]:
    """A command that reads, ours and kubectl; kubectl keeps what it discovered in its home."""
    program = shutil.which("kubectl")
    with tempfile.TemporaryDirectory() as home, Up(f"{home}/data"):
        environment = {"HOME": home, "KUBECONFIG": f"{home}/data/kubeconfig"}

        def run(command: list[str], figures: Figures) -> None:
            figures["ms"], figures["cpu"] = _call([*command, "get", "configmaps"], environment)

        yield {
            OURS: partial(run, [sys.executable, "-m", "quarterdeck.cli"]),
            "kubectl": partial(run, [program]) if program else Missing("kubectl is not installed"),
        }


def _call(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Wall and processor time of a command, in milliseconds."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s * 1e3, cpu_s * 1e3


Converge = Callable[[Path, int], Coroutine[None, None, float]]


def _converging_cases(
    name: str, converge: Converge, count: int, *, rounds: int, note: str
) -> list[Case]:
    series = Series(lambda: _converging(converge, count), rounds=rounds, warms_up=False)
    return [
        case(series, name, "s", "seconds", note=note),
        case(series, f"{name}, processor time", "CPU ms each", "cpu", note=note),
        case(series, f"{name}, memory then", "MB", "memory", note=note),
        case(series, f"{name}, the load generator", "% of its core", "generator", note=note),
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

    def wait_for_rest(self) -> float:
        """Wait until what is loaded after the start is there; the processor time used by then."""
        deadline, used, quiet = time.monotonic() + _REST_LIMIT_S, accounting.cpu_s(self.pid), 0
        while quiet < _REST_LOOKS and time.monotonic() < deadline:
            time.sleep(_REST_LOOK_S)
            before, used = used, accounting.cpu_s(self.pid)
            quiet = quiet + 1 if used - before < _REST_SHARE * _REST_LOOK_S else 0
        return used

    def close(self) -> None:
        """End it as a user does."""
        os.kill(self.pid, signal.SIGINT)
        super().close()


@contextmanager
def _starting(idle_s: float) -> Iterator[Runs]:
    """In a folder whose certificates exist: the second start and later."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = str(Path(folder) / "data")
        Up(prepared).close()

        def run(figures: Figures) -> None:
            with Up(prepared) as up:
                figures["ready"] = up.ready_s
                figures["memory"] = up.memory_bytes() / 1e6
                at_ready = accounting.cpu_s(up.pid)
                before = up.wait_for_rest()
                figures["settling"] = before - at_ready
                time.sleep(idle_s)
                figures["idle"] = 100 * (accounting.cpu_s(up.pid) - before) / idle_s

        yield {OURS: run}


@contextmanager
def _converging(converge: Converge, count: int) -> Iterator[Runs]:
    """`up` on one core, and what creates the objects, which is this process, on the other."""

    def run(figures: Figures) -> None:
        with tempfile.TemporaryDirectory() as folder, Up(f"{folder}/data") as up:
            accounting.pin(up.pid, SERVER_CORE)
            machine.pin(LOAD_CORE)
            before, own = up.wait_for_rest(), time.process_time()
            seconds = asyncio.run(converge(Path(folder) / "data" / "kubeconfig", count))
            figures["seconds"] = seconds
            figures["cpu"] = (accounting.cpu_s(up.pid) - before) / count * 1e3
            figures["memory"] = up.memory_bytes() / 1e6
            figures["generator"] = (time.process_time() - own) / seconds * 100

    cores = machine.affinity()

    def unpinned(figures: Figures) -> None:
        try:
            run(figures)
        finally:
            machine.restore(cores)

    yield {OURS: unpinned}


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


async def _synchronize(kubeconfig: Path, count: int) -> float:
    from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSpec
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import load_config
    from quarterdeck.kit.tasks import fan_out
    from quarterdeck.meta.conditions import is_true
    from quarterdeck.meta.objects import ObjectMeta
    from quarterdeck.wire.query import ListOptions

    # no two are alike: contents that were checked are remembered
    contents = 'prometheus.scrape "p%d" {\n  targets    = []\n  forward_to = []\n}\n'
    async with Client(load_config(kubeconfig)) as client:

        async def make(number: int) -> None:
            metadata = ObjectMeta(name=f"p{number}", namespace="default")
            spec = PipelineSpec(contents=contents % number, matchers=(f"cell={number}",))
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
    programs=("SQLite", "OpenSSL", "kubectl"),
    is_process=True,
)
