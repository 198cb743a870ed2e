"""Minutes of constant load: does anything grow that should not?

Servers: as many objects are created as deleted, while others are changed, read, listed and watched
by watchers that come and go. Operators: see `bench.workloads.soak`. Quick runs have it for seconds,
full ones for minutes; `--soak MINUTES` makes it longer.
"""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import knobs
from bench.peers import api_servers
from bench.peers.api_targets import Starter, Target, target
from bench.series import Figures, Run, Runs, Series, case
from bench.suite import OURS, Case, Missing, Scale, Suite
from bench.workloads import contenders, soak

_PARTS = 20
"""The load is looked at so often; what grows is judged by the second half."""
_WATCHERS = 10


def cases(scale: Scale) -> Sequence[Case]:
    if scale is Scale.STANDARD:
        return []
    operators = contenders.operators(may_build=scale is Scale.FULL)
    if scale is Scale.QUICK:
        operators = {OURS: operators[OURS]}
    return [*_servers(scale), *soak.cases(scale, operators)]


def _servers(scale: Scale) -> list[Case]:
    seconds = knobs.soak_s(scale.pick(2.0, 0.0, 300.0))
    rate_hz, objects = scale.pick(100, 0, 250), scale.pick(50, 0, 2_000)

    @contextmanager
    def soaking() -> Iterator[Runs]:
        yield {
            name: start
            if isinstance(start, Missing)
            else _run(name, start, seconds=seconds, rate_hz=rate_hz, objects=objects)
            for name, start in api_servers.starters().items()
        }

    series = Series(soaking, rounds=1, warms_up=False)
    note = (
        f"{seconds / 60:.3g} minutes of {rate_hz} requests a second in an open loop,"
        f" {objects:,} objects, {_WATCHERS} watchers and one that comes and goes"
    )
    return [
        case(series, f"server, {name}", unit, figure, note=note)
        for figure, (name, unit) in _FIGURES.items()
    ]


_FIGURES = {
    "memory": ("memory at the end", "MB"),
    "slope": ("growth of the memory in the second half", "MB an hour"),
    "descriptors": ("files and sockets more than before, when all clients have gone", "files"),
    "disk": ("on disk at the end", "MB"),
    "disk_slope": ("growth on disk in the second half", "MB an hour"),
    "cpu": ("processor time of a request", "CPU ms"),
    "p50": ("a request in the second half, p50", "ms"),
    "p99": ("a request in the second half, p99", "ms"),
}


def _run(name: str, start: Starter, *, seconds: float, rate_hz: float, objects: int) -> Run:
    def run(figures: Figures) -> None:
        with target(name, start, fill=objects) as soaked:
            server = soaked.server
            descriptors = _left(soaked)
            soaked.ask("soak", objects=objects, watchers=_WATCHERS)
            before, requests = server.cpu_s(), 0
            samples: list[Figures] = []
            for _ in range(_PARTS):
                part = soaked.ask("soaking", seconds=seconds / _PARTS, rate_hz=rate_hz)
                requests += part["requests"]
                samples.append(
                    {
                        "memory": server.memory_bytes() / 1e6,
                        "disk": server.disk_bytes() / 1e6,
                        "p50": part["p50_ms"],
                        "p99": part["p99_ms"],
                    }
                )
            figures["cpu"] = (server.cpu_s() - before) / requests * 1e3
            soaked.ask("soaked")
            figures["descriptors"] = _left(soaked) - descriptors
        figures |= _judged(samples, hours=seconds / _PARTS / 3600)

    return run


def _left(soaked: Target) -> int:
    """What a server has open when all clients have gone."""
    soaked.ask("hang_up")
    return soaked.server.descriptors()


def _judged(samples: Sequence[Figures], *, hours: float) -> Figures:
    """The second half of the parts, each of which took so many hours."""
    half = samples[len(samples) // 2 :]
    last = half[-1]
    return {
        "memory": last["memory"],
        "slope": _slope([each["memory"] for each in half]) / hours,
        "disk": last["disk"],
        "disk_slope": _slope([each["disk"] for each in half]) / hours,
        "p50": statistics.median(each["p50"] for each in half),
        "p99": statistics.median(each["p99"] for each in half),
    }


def _slope(values: Sequence[float]) -> float:
    """By how much a value grows from one part to the next."""
    slope, _ = statistics.linear_regression(range(len(values)), values)
    return slope


SUITE = Suite(
    name="soak",
    title="API servers and operators under minutes of constant load",
    cases=cases,
    versions=("httptools", "uvloop", "msgspec", "kopf", "kubernetes"),
    programs=("SQLite", "OpenSSL", "kube-apiserver", "etcd", "controller-runtime", "go"),
    is_process=True,
)
