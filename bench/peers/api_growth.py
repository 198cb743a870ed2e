"""A server that is filled step by step, and asked at each step what everything costs now."""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from bench.peers import api_servers
from bench.peers.api_targets import Starter, Target, target
from bench.series import Figures, Run, Runs, Series, case
from bench.suite import Case, Missing

_READS = 500
_OPENED = 9
_LISTS = 5
_LISTING_S = 0.3
"""Lists are repeated until they took so long, five times at most: short ones are noisy."""

FIGURES = {
    "create": ("creating n custom objects by 16 clients", "CPU s"),
    "list": ("list of n custom objects in one answer", "ms"),
    "list_cpu": ("list of n custom objects, processor time", "CPU ms"),
    "get": ("GET of one of n custom objects", "CPU ms"),
    "open": ("opening a watch of n custom objects", "ms"),
}
"""What is measured at each size: the case and its unit."""


def growth_cases(sizes: Sequence[int], *, rounds: int) -> list[Case]:
    """Cases that share one series of runs from the first size to the last."""
    series = Series(lambda: _growing(sizes), rounds=rounds, warms_up=False)
    grown = [_case(series, sizes, figure) for figure in FIGURES]
    last = f"{sizes[-1]:,} custom objects of 1 KB"
    return [
        *grown,
        case(series, f"memory with {last}", "MB", "memory"),
        case(series, f"ready again after being killed with {last}", "s", "restart"),
    ]


def _case(series: Series, sizes: Sequence[int], figure: str) -> Case:
    name, unit = FIGURES[figure]
    return Case(
        name=name,
        unit=unit,
        open=lambda size: nullcontext(series.contenders(f"{figure}_{size}")),
        sizes=sizes,
        rounds=series.rounds,
    )


@contextmanager
def _growing(sizes: Sequence[int]) -> Iterator[Runs]:
    yield {
        name: start if isinstance(start, Missing) else _run(name, start, sizes)
        for name, start in api_servers.starters().items()
    }


def _run(name: str, start: Starter, sizes: Sequence[int]) -> Run:
    def run(figures: Figures) -> None:
        with target(name, start) as grown:
            spent, there = 0.0, 0
            for size in sizes:
                spent += grown.cost_s("create", count=size - there, clients=16, prefix=f"g{size}-")
                there = size
                figures[f"create_{size}"] = spent
                _ask(grown, size, first=sizes[0], figures=figures)
            figures["memory"] = grown.server.memory_bytes() / 1e6
            figures["restart"] = grown.server.restart()

    return run


def _ask(grown: Target, size: int, *, first: int, figures: Figures) -> None:
    seconds: list[float] = []
    costs: list[float] = []
    while len(seconds) < _LISTS and sum(seconds) < _LISTING_S:
        before = grown.server.cpu_s()
        seconds.append(grown.ask("list", expect=size)["seconds"])
        costs.append(grown.server.cpu_s() - before)
    figures[f"list_{size}"] = statistics.median(seconds) * 1e3
    figures[f"list_cpu_{size}"] = statistics.median(costs) * 1e3
    spent = grown.cost_s("get", count=_READS, clients=16, of=first, prefix=f"g{first}-")
    figures[f"get_{size}"] = spent / _READS * 1e3
    figures[f"open_{size}"] = grown.ask("opening", count=_OPENED)["ms"]
