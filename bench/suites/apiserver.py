"""Our API server against kube-apiserver with etcd: start, memory, rates, cost, lists, watches.

Both are real processes on durable storage behind TLS, as kubectl meets them. The load comes from a
process of its own, with our HTTP client, kept on one core; costs are processor time at the server.
Servers may use every core.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.peers import api_servers
from bench.peers.api_servers import ApiServer
from bench.peers.api_targets import SEEDED, Stage, Target, generator_for, opened
from bench.recording import Recording, Run
from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite

GENERATOR = "load generator"
_WATCHERS = 100


def cases(scale: Scale) -> Sequence[Case]:
    requests = scale.pick(100, 1_500, 5_000)
    clients = scale.pick((16,), (1, 16, 64), (1, 16, 64))
    filled = scale.pick(300, 10_000, 100_000)
    lists = scale.pick((100, 200), (2_500, 5_000, 10_000), (12_500, 25_000, 50_000, 100_000))
    grown = scale.pick((100, 200), (1_000, 2_000, 4_000), (6_250, 12_500, 25_000, 50_000))
    stage = Stage()
    stage.uses = 1  # by the load generator's own case
    return [
        Case(name="ready from the start of the process", unit="s", open=lambda _: _starts()),
        Case(name="memory, idle", unit="MB", open=lambda _: _idle_memory()),
        Case(
            name="processor time when idle",
            unit="% of a core",
            open=lambda _: _idle_cpu(scale.pick(0.5, 4.0, 20.0)),
        ),
        *(_rate_case(stage, "creates", clients=each, count=requests) for each in clients),
        *(_rate_case(stage, "reads", clients=each, count=requests) for each in clients),
        Case(
            name="reads by 64 clients, what the load generator could send",
            unit="requests/s",
            open=lambda _: _generator(stage, requests),
            is_more_better=True,
            note="If this is not well above the rate of a server, that rate is a lower bound.",
        ),
        *(_cost_case(stage, what, count=requests) for what in _COSTS),
        *(_cost_case(stage, what, count=requests, plain=True) for what in ("GET", "POST")),
        Case(
            name=f"memory with {filled:,} custom objects of 1 KB",
            unit="MB",
            open=lambda _: _filled_memory(filled),
        ),
        Case(
            name="list of n custom objects in one answer",
            unit="ms",
            open=_lists,
            sizes=lists,
        ),
        Case(
            name="creating n custom objects by 16 clients",
            unit="CPU s",
            open=_growth,
            sizes=grown,
            note="Objects of earlier rounds stay.",
        ),
        *_watch_cases(scale.pick(10, 100, 500), rate_hz=scale.pick(40, 20, 20)),
    ]


_COSTS = {
    "GET": "get",
    "POST": "create",
    "server-side apply": "apply",
    "merge patch of the status": "status",
}
"""What is asked of the server, and the generator's word for it."""


def _rate_case(stage: Stage, what: str, *, clients: int, count: int) -> Case:
    stage.uses += 1
    return Case(
        name=f"{what} of a custom object by {clients} clients",
        unit="requests/s",
        open=lambda _: _rates(
            stage, what, clients=clients, count=count if clients > 1 else count // 3
        ),
        is_more_better=True,
    )


def _cost_case(stage: Stage, what: str, *, count: int, plain: bool = False) -> Case:
    stage.uses += 0 if plain else 1
    name = f"{what} of a custom object{', plain HTTP' if plain else ''}"
    return Case(
        name=name,
        unit="CPU ms",
        open=lambda _: _costs(stage, what, count=count, plain=plain),
    )


def _watch_cases(count: int, *, rate_hz: int) -> list[Case]:
    """One run for both percentiles."""
    recordings = {
        name: each if isinstance(each, Missing) else Recording(_watches(each, count, rate_hz))
        for name, each in api_servers.starters().items()
    }

    def case(share: str) -> Case:
        return Case(
            name=f"write to event at {_WATCHERS} watchers, {share}",
            unit="ms",
            open=lambda _: _replayed(recordings, f"{share}_ms"),
            note=f"Open loop, {rate_hz} writes a second.",
        )

    return [case("p50"), case("p99")]


def _measured(
    targets: dict[str, Target | Missing], measure: Callable[[Target], Measure]
) -> Contenders:
    return {
        name: each if isinstance(each, Missing) else measure(each) for name, each in targets.items()
    }


@contextmanager
def _starts() -> Iterator[Contenders]:
    def measure(start: Callable[[Any], ApiServer]) -> Measure:
        def run() -> float:
            with api_servers.one(start) as server:
                return server.ready_s

        return run

    yield {
        name: each if isinstance(each, Missing) else measure(each)
        for name, each in api_servers.starters().items()
    }


@contextmanager
def _idle_memory() -> Iterator[Contenders]:
    with api_servers.started() as servers:
        yield {
            name: each if isinstance(each, Missing) else _memory(each)
            for name, each in servers.items()
        }


def _memory(server: ApiServer) -> Measure:
    return lambda: server.memory_bytes() / 1e6


@contextmanager
def _idle_cpu(seconds: float) -> Iterator[Contenders]:
    def measure(server: ApiServer) -> Measure:
        def run() -> float:
            before = server.cpu_s()
            time.sleep(seconds)
            return (server.cpu_s() - before) / seconds * 100

        return run

    with api_servers.started() as servers:
        yield {
            name: each if isinstance(each, Missing) else measure(each)
            for name, each in servers.items()
        }


@contextmanager
def _filled_memory(count: int) -> Iterator[Contenders]:
    with opened(fill=count) as targets:
        yield _measured(targets, lambda target: _memory(target.server))


@contextmanager
def _rates(stage: Stage, what: str, *, clients: int, count: int) -> Iterator[Contenders]:
    def measure(target: Target) -> Measure:
        def run() -> float:
            if what == "creates":
                spent = target.ask("create", count=count, clients=clients, prefix=target.prefix())
            else:
                spent = target.ask("get", count=count, clients=clients, of=SEEDED)
            return float(count / spent["seconds"])

        return run

    with stage.targets() as targets:
        yield _measured(targets, measure)


@contextmanager
def _generator(stage: Stage, count: int) -> Iterator[Contenders]:
    with stage.targets() as targets:
        ours = targets[OURS]
        assert isinstance(ours, Target)

        def run() -> float:
            spent = ours.ask("get", count=count, clients=64, of=SEEDED)
            return float(count / spent["generator_cpu_s"])

        yield {GENERATOR: run}


@contextmanager
def _costs(stage: Stage, what: str, *, count: int, plain: bool) -> Iterator[Contenders]:
    command = _COSTS[what]

    def measure(target: Target) -> Measure:
        def run() -> float:
            arguments = {"prefix": target.prefix()} if command == "create" else {"of": SEEDED}
            spent = target.cost_s(command, count=count, clients=16, **arguments)
            return spent / count * 1e3

        return run

    with opened(fill=SEEDED, plain=True) if plain else stage.targets() as targets:
        yield _measured(targets, measure)


def _lists(size: int) -> AbstractContextManager[Contenders]:
    return _listing(size)


@contextmanager
def _listing(size: int) -> Iterator[Contenders]:
    def measure(target: Target) -> Measure:
        return lambda: float(target.ask("list", expect=size)["seconds"] * 1e3)

    with opened(fill=size) as targets:
        yield _measured(targets, measure)


@contextmanager
def _growth(size: int) -> Iterator[Contenders]:
    def measure(target: Target) -> Measure:
        return lambda: target.cost_s("create", count=size, clients=16, prefix=target.prefix())

    with opened() as targets:
        yield _measured(targets, measure)


@contextmanager
def _replayed(recordings: Mapping[str, Recording | Missing], figure: str) -> Iterator[Contenders]:
    yield {
        name: each if isinstance(each, Missing) else each.figure(figure)
        for name, each in recordings.items()
    }


def _watches(start: Callable[[Path], ApiServer], count: int, rate_hz: int) -> Run:
    def run() -> Mapping[str, float]:
        with api_servers.one(start) as server, ExitStack() as stack:
            target = generator_for(server, stack)
            target.ask("setup")
            target.ask("create", count=count, clients=32)
            return target.ask("watch", watchers=_WATCHERS, rate_hz=rate_hz, count=count)

    return run


SUITE = Suite(
    name="apiserver",
    title="API server",
    cases=cases,
    versions=("httptools", "uvloop", "msgspec"),
    is_process=True,
)
