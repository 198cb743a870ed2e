"""Operators that do the same work on the same API server: ours, kopf, the official client, Go.

A run starts a server with objects on it and an operator on another core, and goes through three
workloads: bring every object to its status, follow changes that come in an open loop, and restart.
Latencies are between two events of one watch, so they are the server's. Where KUBE_APISERVER and
ETCD name binaries, the first workload is also run on kube-apiserver, which favours nobody.
"""

import importlib.util
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import accounting
from bench.peers import api_servers
from bench.peers.api_servers import KUBERNETES, LOAD_CORE, SERVER_CORE, ApiServer
from bench.process import Child
from bench.recording import Recording, Run
from bench.suite import OURS, Case, Contenders, Missing, Scale, Suite

KOPF = "kopf"
INFORMER = "official client's informer"
GO = "controller-runtime (Go)"

_GO_SOURCES = Path(__file__).parent.parent / "peers" / "go"
_GO_BINARY = Path(__file__).parent.parent.parent / ".tools" / "bench" / "operator"
_GO_LIMIT_S = 300.0
_MODULES = {KOPF: "kopf", INFORMER: "kubernetes.informer"}
_ROLES = {OURS: "quarterdeck", KOPF: "kopf", INFORMER: "informer"}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What one run goes through."""

    objects: int
    rates_hz: Sequence[int] = ()
    seconds: float = 0.0
    """How long changes come at each rate."""
    restarts: bool = True
    once: bool = False
    """Whether one run is enough, because the figures do not matter."""


def cases(scale: Scale) -> Sequence[Case]:
    work = Workload(
        objects=scale.pick(40, 1_000, 10_000),
        rates_hz=scale.pick((50,), (100, 300), (100, 300)),
        seconds=scale.pick(0.5, 2.0, 10.0),
        once=scale is Scale.QUICK,
    )
    operators = _operators(may_build=scale is not Scale.QUICK)
    found = _recorded_cases(operators, api_servers.start_ours, work, on="")
    neutral = api_servers.starters()[KUBERNETES]
    if not isinstance(neutral, Missing):
        work = Workload(objects=max(40, work.objects // 4), restarts=False, once=work.once)
        found += _recorded_cases(operators, neutral, work, on=", on kube-apiserver")
    return found


def _recorded_cases(
    operators: Mapping[str, Sequence[str] | Missing],
    start: Callable[[Path], ApiServer],
    work: Workload,
    *,
    on: str,
) -> list[Case]:
    """One case for each figure of a run; the runs happen once and serve all of them."""
    recordings = {
        name: each
        if isinstance(each, Missing)
        else Recording(_run_of(each, start, work), once=work.once)
        for name, each in operators.items()
    }

    def case(name: str, unit: str, figure: str, note: str = "") -> Case:
        return Case(
            name=name + on,
            unit=unit,
            open=lambda _: _figures(recordings, figure),
            note=note,
        )

    what = f"{work.objects:,} objects brought to their status"
    found = [
        case(f"{what}, processor time", "CPU ms an object", "cpu_ms"),
        case(f"{what}, time", "s", "seconds"),
        case(f"{what}, memory", "MB at most", "memory_mb"),
        case(f"{what}, writes", "an object", "writes"),
        case(f"{what}, the server's processor time", "CPU ms an object", "server_ms"),
    ]
    for rate in work.rates_hz:
        note = "Open loop; from the event of the change to the event of the status."
        for share in ("p50", "p99"):
            name = f"change to status at {rate} a second, {share}"
            found.append(case(name, "ms", f"{share}_{rate}", note))
    if work.restarts:
        what = f"restart with {work.objects:,} objects that are done"
        note = "Until an object that was created meanwhile has its status."
        found.append(case(f"{what}, time from the start of the process", "s", "restart_s", note))
        found.append(case(f"{what}, processor time", "CPU s", "restart_cpu_s", note))
    return found


@contextmanager
def _figures(recordings: Mapping[str, Recording | Missing], name: str) -> Iterator[Contenders]:
    yield {
        contender: each if isinstance(each, Missing) else each.figure(name)
        for contender, each in recordings.items()
    }


def _operators(*, may_build: bool) -> dict[str, Sequence[str] | Missing]:
    """The command of each operator; a kubeconfig is added to it."""
    found: dict[str, Sequence[str] | Missing] = {}
    for name, role in _ROLES.items():
        module = _MODULES.get(name)
        if module is not None and not _is_installed(module):
            found[name] = Missing(f"{module} is not installed")
        else:
            found[name] = ["-m", "bench.peers.operators", role]
    found[GO] = _go_operator(may_build=may_build)
    return found


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _go_operator(*, may_build: bool) -> Sequence[str] | Missing:
    if not _GO_BINARY.exists():
        if not may_build:
            return Missing("not built; a standard run builds it")
        if (problem := _build_go()) is not None:
            return Missing(problem)
    return [str(_GO_BINARY)]


def _build_go() -> str | None:
    go = shutil.which("go")
    if go is None:
        return "Go is not installed"
    _GO_BINARY.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(_GO_BINARY), "."]
    try:
        built = subprocess.run(
            command, cwd=_GO_SOURCES, capture_output=True, timeout=_GO_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "building it took too long"
    return None if built.returncode == 0 else "building it failed"


def _run_of(command: Sequence[str], start: Callable[[Path], ApiServer], work: Workload) -> Run:
    def run() -> Mapping[str, float]:
        with api_servers.one(start) as server, _generator(server) as ask:
            ask("setup")
            ask("create", count=work.objects, clients=32)
            ask("observe")
            figures = _work(server, command, work, ask)
            if work.restarts:
                ask("create", count=1, clients=1, prefix="meanwhile")
                figures |= _restart(server, command, ask)
            return figures

    return run


Ask = Callable[..., dict[str, Any]]


@contextmanager
def _generator(server: ApiServer) -> Iterator[Ask]:
    command = ["-m", "bench.peers.api_load", str(server.kubeconfig)]
    with Child(command, core=SERVER_CORE) as child:
        child.line()

        def ask(do: str, **arguments: Any) -> dict[str, Any]:
            answer: dict[str, Any] = json.loads(child.ask(json.dumps({"do": do, **arguments})))
            if "error" in answer:
                raise RuntimeError(f"load generator: {answer['error']}")
            return answer

        yield ask


def _work(server: ApiServer, command: Sequence[str], work: Workload, ask: Ask) -> dict[str, float]:
    with Child([*command, str(server.kubeconfig)], core=LOAD_CORE) as operator:
        operator.line()
        before, server_before = accounting.cpu_s(operator.pid), server.cpu_s()
        operator.send("go")
        done = ask("settled")
        figures = {
            "cpu_ms": (accounting.cpu_s(operator.pid) - before) / work.objects * 1e3,
            "server_ms": (server.cpu_s() - server_before) / work.objects * 1e3,
            "seconds": done["seconds"],
            "memory_mb": accounting.memory_bytes(operator.pid, "VmHWM") / 1e6,
        }
        time.sleep(0.2)
        figures["writes"] = ask("settled")["writes"] / work.objects
        for rate in work.rates_hz:
            count = int(rate * work.seconds)
            found = ask("touch", rate_hz=rate, count=count, of=work.objects)
            figures[f"p50_{rate}"] = found["p50_ms"]
            figures[f"p99_{rate}"] = found["p99_ms"]
        return figures


def _restart(server: ApiServer, command: Sequence[str], ask: Ask) -> dict[str, float]:
    begin = time.perf_counter()
    with Child([*command, str(server.kubeconfig)], core=LOAD_CORE) as operator:
        operator.line()
        operator.send("go")
        ask("settled")
        return {
            "restart_s": time.perf_counter() - begin,
            "restart_cpu_s": accounting.cpu_s(operator.pid),
        }


SUITE = Suite(
    name="runtime",
    title="Operator runtime",
    cases=cases,
    versions=("kopf", "kubernetes", "uvloop"),
    is_process=True,
)
