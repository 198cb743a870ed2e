"""Our API server against kube-apiserver with etcd: start, memory, rates, cost, lists, watches.

Both are real processes on durable storage behind TLS, as kubectl meets them. The load comes from a
process of its own, kept on one core, and says how much of it that took; rates come from requests
that were made beforehand (`prepared_load`), all else from our HTTP client. Costs
are processor time at the server. Ours is kept on the other core, since one is all it uses;
kube-apiserver and etcd may use both.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from bench.peers import api_servers, envtest
from bench.peers.api_growth import growth_cases
from bench.peers.api_servers import ApiServer
from bench.peers.api_targets import SEEDED, Stage, Starter, Target, opened
from bench.series import Figures, Run, Runs, Series, case, generator_case
from bench.suite import Case, Contenders, Measure, Missing, Scale, Suite
from bench.workloads.policies import open_policies
from bench.workloads.rights import ROLES, open_roles, open_servers

_WATCHERS = 100
_RATE_HZ = 20


def cases(scale: Scale) -> Sequence[Case]:
    clients = scale.pick((16,), (1, 16, 64), (1, 16, 64))
    stage = Stage()
    rounds = scale.pick(1, 3, 5)
    seconds = scale.pick(0.1, 1.0, 2.0)
    requests = scale.pick(100, 1_000, 4_000)
    servers = scale.pick(5, 200, 200)
    sizes = scale.pick((100, 200), (2_500, 5_000, 10_000), (12_500, 25_000, 50_000, 100_000))
    return [
        Case(name="ready from the start of the process", unit="s", open=lambda _: _starts()),
        Case(name="ready as envtest starts it", unit="s", open=lambda _: _envtest_starts()),
        *_idle_cases(scale.pick(0.3, 2.0, 10.0), rounds=rounds),
        *_rate_cases(stage, "creates", clients=clients, seconds=seconds, rounds=rounds),
        *_rate_cases(stage, "reads", clients=clients, seconds=seconds, rounds=rounds),
        *(_cost_case(stage, what, count=requests) for what in _COSTS),
        *(
            _built_in_case(stage, name, count=requests, whole=whole)
            for name in _MEDIA
            for whole in (False, True)
        ),
        *_watch_cases(stage, scale.pick(10, 100, 200), rounds=rounds),
        *(_cost_case(stage, what, count=requests, plain=True) for what in ("GET", "POST")),
        Case(name="a validating admission policy, a write", unit="CPU µs", open=open_policies),
        Case(
            name=f"GET decided by {ROLES:,} roles and bindings",
            unit="CPU µs",
            open=lambda _: open_roles(ROLES),
        ),
        Case(
            name=f"{servers} servers in one process, started and stopped",
            unit="s",
            open=lambda _: open_servers(servers),
        ),
        *growth_cases(sizes, rounds=rounds),
    ]


_COSTS = {
    "GET": "get",
    "POST": "create",
    "server-side apply": "apply",
    "merge patch of the status": "status",
}
"""What is asked of the server, and the generator's word for it."""


_MEDIA = {"JSON": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}
"""In what built-in kinds are read: kubectl asks for JSON, client-go for protobuf."""


@contextmanager
def _starts() -> Iterator[Contenders]:
    yield _measure_starts(api_servers.starters())


def _measure_starts(starters: Mapping[str, Starter | Missing]) -> Contenders:
    def measure(start: Starter) -> Measure:
        def run() -> float:
            with api_servers.one(start) as server:
                return server.ready_s

        return run

    return {
        name: each if isinstance(each, Missing) else measure(each)
        for name, each in starters.items()
    }


@contextmanager
def _envtest_starts() -> Iterator[Contenders]:
    with tempfile.TemporaryDirectory(prefix="quarterdeck-bench-") as folder:
        yield _measure_starts(envtest.starters(Path(folder)))


def _idle_cases(seconds: float, *, rounds: int) -> list[Case]:
    """One pair of servers for both figures; the first round lets them settle."""

    def measure(server: ApiServer) -> Run:
        def run(figures: Figures) -> None:
            before = server.cpu_s()
            time.sleep(seconds)
            figures["cpu"] = (server.cpu_s() - before) / seconds * 100
            figures["memory"] = server.memory_bytes() / 1e6

        return run

    @contextmanager
    def idle() -> Iterator[Runs]:
        with api_servers.started() as servers:
            yield {
                name: each if isinstance(each, Missing) else measure(each)
                for name, each in servers.items()
            }

    series = Series(idle, rounds=rounds)
    return [
        case(series, "memory, idle", "MB", "memory"),
        case(series, "processor time when idle", "% of a core", "cpu"),
    ]


def _rate_cases(
    stage: Stage, what: str, *, clients: Sequence[int], seconds: float, rounds: int
) -> list[Case]:
    """Rates by clients that wait for each answer, and what the generator had left at the most."""

    def measure(count: int, target: Target) -> Run:
        def run(figures: Figures) -> None:
            if what == "creates":
                prefix = target.prefix()
                done = target.ask("creating", seconds=seconds, clients=count, prefix=prefix)
            else:
                done = target.ask("reading", seconds=seconds, clients=count, of=SEEDED)
            figures["rate"] = done["count"] / done["seconds"]
            figures["generator"] = done["generator_cpu_s"] / done["seconds"] * 100

        return run

    found = []
    for count in clients:
        series = Series(_staged(stage, partial(measure, count)), rounds=rounds)
        name = f"{what} of a custom object by {count} client{'s' if count > 1 else ''}"
        found.append(case(series, name, "requests/s", "rate", is_more_better=True))
    return [*found, generator_case(series, f"{what} by {count} clients", "generator")]


def _cost_case(stage: Stage, what: str, *, count: int, plain: bool = False) -> Case:
    command = _COSTS[what]

    def measure(target: Target) -> Measure:
        def run() -> float:
            arguments = {"prefix": target.prefix()} if command == "create" else {"of": SEEDED}
            return target.cost_s(command, count=count, clients=16, **arguments) / count * 1e3

        return run

    @contextmanager
    def open(_: int) -> Iterator[Contenders]:
        if plain:
            stage.close()
        with opened(fill=SEEDED, plain=True) if plain else stage.targets() as targets:
            yield {
                name: each if isinstance(each, Missing) else measure(each)
                for name, each in targets.items()
            }

    name = f"{what} of a custom object{', plain HTTP' if plain else ''}"
    return Case(name=name, unit="CPU ms", open=open)


def _built_in_case(stage: Stage, name: str, *, count: int, whole: bool) -> Case:
    """What a Deployment, or the list of them, costs in a media type."""
    count = max(1, count // SEEDED) if whole else count

    def measure(target: Target) -> Measure:
        target.ask("deploy", of=SEEDED)
        load = {"of": SEEDED, "media": _MEDIA[name], "whole": whole}

        def run() -> float:
            return target.cost_s("deployed", count=count, clients=16, **load) / count * 1e3

        return run

    @contextmanager
    def open(_: int) -> Iterator[Contenders]:
        with stage.targets() as targets:
            yield {
                each: found if isinstance(found, Missing) else measure(found)
                for each, found in targets.items()
            }

    what = f"list of {SEEDED} Deployments" if whole else "GET of a Deployment"
    return Case(name=f"{what} in {name}", unit="CPU ms", open=open)


def _watch_cases(stage: Stage, count: int, *, rounds: int) -> list[Case]:
    def measure(target: Target) -> Run:
        def run(figures: Figures) -> None:
            load = {"watchers": _WATCHERS, "rate_hz": _RATE_HZ, "of": SEEDED}
            figures |= target.ask("watching", count=count, **load)

        return run

    series = Series(_staged(stage, measure), rounds=rounds, warms_up=False)
    what = f"write to event at {_WATCHERS} watchers"
    note = (
        f"Open loop, {_RATE_HZ} writes a second; as ten of the watchers see it, since a generator"
        " that read all of them at once would be the limit."
    )
    return [
        case(series, f"{what}, p50", "ms", "p50_ms", note=note),
        case(series, f"{what}, p99", "ms", "p99_ms", note=note),
    ]


def _staged(
    stage: Stage, measure: Callable[[Target], Run]
) -> Callable[[], AbstractContextManager[Runs]]:
    @contextmanager
    def open() -> Iterator[Runs]:
        with stage.targets() as targets:
            yield {
                name: each if isinstance(each, Missing) else measure(each)
                for name, each in targets.items()
            }

    return open


SUITE = Suite(
    name="apiserver",
    title="API server",
    cases=cases,
    versions=("httptools", "uvloop", "msgspec"),
    programs=("SQLite", "OpenSSL", "kube-apiserver", "etcd"),
    is_process=True,
)
