"""One hub process that watches many clusters over TLS, each with two MetricSources.

Nothing else that can be self-hosted does this, so there is no peer: the budget is one core and a
p99 lag of two seconds at 1,000 clusters of 10 nodes, 200 pods and 20 namespaces. Clusters are
recorded answers of another process, so that their cost is not the hub's.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Contenders, Scale, Suite

NODES, PODS, NAMESPACES = 10, 200, 20
INTERVAL_S = 30


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(20, 200, 1_000)
    growth = scale.pick((), (50, 100, 200), (125, 250, 500, 1_000))
    size = f"{count:,} clusters of {NODES} nodes and {PODS} pods, every {INTERVAL_S} s, over TLS"
    watching = Series(lambda: _watching(count), rounds=scale.pick(1, 1, 3), warms_up=False)
    found = [
        case(watching, "watch clusters, cores used", "cores", "cores", note=size),
        case(watching, "watch clusters, p99 lag", "s", "p99", note=size),
        case(watching, "watch clusters, one visit", "CPU ms", "visit", note=size),
        case(watching, "watch clusters, memory", "MB", "memory", note=size),
    ]
    if growth:
        name = "watch clusters, cores used, growth by clusters"
        found.append(Case(name=name, unit="cores", open=_growing, sizes=growth, rounds=1))
    return found


class Fleet(Child):
    """Many clusters behind one port."""

    def __init__(self, folder: str) -> None:
        sizes = [str(each) for each in (NODES, PODS, NAMESPACES)]
        super().__init__(["-m", "bench.peers.cluster_sim", *sizes, folder])
        self.port = self.line().strip()
        self.authority = str(Path(folder) / "authority.crt")


class Hub(Child):
    """The hub under measurement."""

    def __init__(self, count: int, fleet: Fleet) -> None:
        command = ["-m", "bench.peers.hub_process", str(count), str(INTERVAL_S)]
        super().__init__([*command, fleet.port, fleet.authority])
        self._count = count
        if self.line().strip() != "ready":
            self.close()
            raise Missed("the hub did not read every cluster once")

    def measure(self, seconds: float) -> Figures:
        """What it costs to watch for a while."""
        before = json.loads(self.ask())
        began = time.monotonic()
        time.sleep(seconds)
        after = json.loads(self.ask())
        elapsed = time.monotonic() - began
        if after["healthy"] != self._count:
            raise Missed(f"{self._count - after['healthy']} clusters could not be read")
        spent = after["cpu_s"] - before["cpu_s"]
        return {
            "cores": spent / elapsed,
            "p99": after["p99"],
            "visit": spent / max(1, after["visits"]) * 1000,
            "memory": self.memory_bytes() / 1e6,
        }


@contextmanager
def _fleet_of(count: int) -> Iterator[Hub]:
    with tempfile.TemporaryDirectory() as folder, Fleet(folder) as fleet, Hub(count, fleet) as hub:
        yield hub


@contextmanager
def _watching(count: int) -> Iterator[Runs]:
    with _fleet_of(count) as hub:

        def run(figures: Figures) -> None:
            figures.update(hub.measure(INTERVAL_S))

        yield {OURS: run}


@contextmanager
def _growing(count: int) -> Iterator[Contenders]:
    with _fleet_of(count) as hub:
        yield {OURS: lambda: hub.measure(INTERVAL_S)["cores"]}


SUITE = Suite(name="hub", title="Hub: many clusters watched", cases=cases, is_process=True)
