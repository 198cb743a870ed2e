"""One hub process that watches many clusters over TLS, each with two MetricSources.

Nothing else that can be self-hosted does this, so there is no peer: the budget is one core and a
p99 lag of two seconds at 1,000 clusters of 10 nodes, 200 pods and 20 namespaces. Clusters are
recorded answers of another process, so that their cost is not the hub's. Viewers ask the hub API in
a process of its own; the budget is a p99 of 50 ms for the list of 1,000 clusters, for a viewer who
may see half of each. Agents push to an ingester on Redis and VictoriaMetrics; the budget for 1,000
of them is one core, a p99 of 500 ms until the acknowledgement, and 200 KB of memory each.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Contenders, Scale, Suite
from bench.workloads import agents

NODES, PODS, NAMESPACES = 10, 200, 20
INTERVAL_S = 30
LISTS = 200


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
    viewers = scale.pick(100, 1_000, 1_000)
    seeing = Series(lambda: _seeing(viewers), rounds=scale.pick(1, 3, 5), warms_up=False)
    note = f"{viewers:,} clusters, each collected anew every {INTERVAL_S} s, one connection"
    for who in ("restricted", "root"):
        text = "a restricted viewer" if who == "restricted" else "an administrator"
        found += [
            case(seeing, f"list clusters for {text}, {figure}", "ms", f"{who} {figure}", note=note)
            for figure in ("p50", "p99")
        ]
    found += _push_cases(scale)
    if growth:
        name = "watch clusters, cores used, growth by clusters"
        found.append(Case(name=name, unit="cores", open=_growing, sizes=growth, rounds=1))
    return found


def _push_cases(scale: Scale) -> list[Case]:
    count = scale.pick(20, 200, 1_000)
    every_s = scale.pick(5, 15, INTERVAL_S)
    pushing = Series(lambda: _pushing(count, every_s), rounds=scale.pick(1, 1, 3), warms_up=False)
    note = (
        f"{count:,} agents over TLS, {agents.ROWS} resources each, every {every_s} s, "
        "Redis and VictoriaMetrics beside"
    )
    return [
        case(pushing, "connected agents, cores used", "cores", "cores", note=note),
        case(pushing, "connected agents, p50 until the ack", "ms", "p50", note=note),
        case(pushing, "connected agents, p99 until the ack", "ms", "p99", note=note),
        case(pushing, "connected agents, memory of one", "KB", "memory", note=note),
    ]


@contextmanager
def _pushing(count: int, every_s: int) -> Iterator[Runs]:
    def run(figures: Figures) -> None:
        figures.update(agents.measure(count, every_s))

    yield {OURS: run}


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


class Viewers(Child):
    """The hub API over a store that is written all the time."""

    def __init__(self, count: int) -> None:
        super().__init__(["-m", "bench.peers.hub_viewers", str(count), str(INTERVAL_S)])
        self._connection = HTTPConnection("127.0.0.1", int(self.line()))

    def measure(self, who: str) -> Figures:
        """How long lists take, in milliseconds; the first one, which computes all, is dropped."""
        times = sorted([self._list(who) for _ in range(LISTS + 1)][1:])
        return {f"{who} p50": times[LISTS // 2], f"{who} p99": times[int(LISTS * 0.99)]}

    def _list(self, who: str) -> float:
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {who}"}
        self._connection.request("GET", "/api/v1/clusters", headers=headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200 or len(body) < 1000:
            raise Missed(f"the hub answered with {response.status}")
        return (time.perf_counter() - began) * 1000


@contextmanager
def _seeing(count: int) -> Iterator[Runs]:
    with Viewers(count) as hub:

        def run(figures: Figures) -> None:
            for who in ("restricted", "root"):
                figures.update(hub.measure(who))

        yield {OURS: run}


@contextmanager
def _growing(count: int) -> Iterator[Contenders]:
    with _fleet_of(count) as hub:
        yield {OURS: lambda: hub.measure(INTERVAL_S)["cores"]}


SUITE = Suite(name="hub", title="Hub: many clusters watched", cases=cases, is_process=True)
