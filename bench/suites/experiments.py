"""Experiments: how soon one is over, how many at once, what one that is over costs.

Providers, Argo CD and Argo Workflows are simulated in the same process; target clusters are real
API servers. Nothing else does the same, so there is no peer.
"""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import msgspec

from bench.peers import experiments_hub as hubs
from bench.peers import prose
from bench.process import Child
from bench.suite import OURS, Case, Contenders, Scale, Suite
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.client import Client
from quarterdeck.meta.objects import get_raw
from quarterdeck.operators.experiments.simulators import Delays

REAL = Delays(cluster=2.0, application=1.0, workflow=2.0, deletion=0.5)
NONE = Delays(cluster=0.0, application=0.0, workflow=0.0, deletion=0.0)
LIMIT_S = 300.0
_MESSAGE = 1_000
Measure = Callable[[Client], Coroutine[None, None, int]]


def cases(scale: Scale) -> Sequence[Case]:
    many = scale.pick(5, 50, 100)
    over = scale.pick(200, 1_000, 1_000)
    return [
        Case(
            name="the sample, from created to nothing left",
            unit="s",
            open=_measured(lambda: _run(1, REAL)),
            rounds=scale.pick(1, 2, 3),
            note="with a cluster in 2 s, an Application in 1 s, the workflow in 2 s; at most 10",
        ),
        Case(
            name="samples at once, each",
            unit="CPU ms",
            open=_measured(lambda: _run(many, NONE)),
            rounds=1,
            note=f"{many} samples; server, simulators and target clusters included",
        ),
        Case(
            name="allocated for an experiment that is over",
            unit="KB",
            open=_measured(lambda: measure_finished(over, measure_allocated)),
            rounds=1,
            note=f"in the operator, of {over:,}, by tracemalloc; at most 20",
        ),
        Case(
            name="resident for an experiment that is over",
            unit="KB",
            open=_measured(lambda: measure_finished(over, measure_resident)),
            rounds=1,
            note=f"in a process of the operator alone, of {over:,}; at most 20",
        ),
    ]


def _measured(
    run: Callable[[], Coroutine[None, None, float]],
) -> Callable[[int], AbstractContextManager[Contenders]]:
    @contextmanager
    def opened(_: int) -> Iterator[Contenders]:
        yield {OURS: lambda: asyncio.run(run())}

    return opened


async def _run(count: int, delays: Delays) -> float:
    """Seconds for one sample, or milliseconds of processor time each for several."""
    names = [f"sample-{number}" for number in range(count)]
    async with (
        hubs.hub() as (client, clusters),
        hubs.simulated(client, clusters, delays),
        hubs.operator(client),
    ):
        began, spent = time.monotonic(), time.process_time()
        await hubs.create(client, names)
        await hubs.wait_cleaned(client, names, within_s=LIMIT_S)
        if count == 1:
            return time.monotonic() - began
        return (time.process_time() - spent) / count * 1000


async def measure_finished(
    count: int, measure: Callable[[Client], Coroutine[None, None, int]]
) -> float:
    """Kilobytes that the operator needs for each experiment that is over; for itself not counted.

    The cache keeps recent objects decoded and packs the others, so that each needs less the more
    there are.
    """
    async with hubs.hub() as (client, clusters):
        async with hubs.simulated(client, clusters, NONE), hubs.operator(client):
            await hubs.create(client, ["over"])
            await hubs.wait_cleaned(client, ["over"], within_s=LIMIT_S)
        done = await client.get(Experiment, "over", hubs.NAMESPACE)
        status = msgspec.json.decode(get_raw(done) or b"{}")["status"]
        await measure(client)  # loads what is loaded once
        before = await measure(client)
        await _add_finished(client, count, status)
        return (await measure(client) - before) / count / 1000


async def _add_finished(client: Client, count: int, status: Mapping[str, Any]) -> None:
    """Create experiments that are over already."""
    names = [f"over-{number}" for number in range(count)]
    await hubs.create(client, names)
    for number, name in enumerate(names):
        created = await client.get(Experiment, name, hubs.NAMESPACE)
        own = {**_rename(status, name), "message": prose.words(_MESSAGE, seed=number)}
        await client.patch(created, {"status": own}, subresource="status")


def _rename(status: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The status of another experiment: objects that are alike would be packed too well."""
    text = msgspec.json.encode(status).replace(b'"over', f'"{name}'.encode())
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


async def measure_allocated(client: Client) -> int:
    """Bytes that an operator holds once it has nothing to do."""
    gc.collect()
    tracemalloc.start()
    try:
        async with hubs.operator(client) as manager:
            await hubs.wait_idle(manager)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


async def measure_resident(client: Client) -> int:
    """Bytes of a process that runs the operator alone, once it has nothing to do."""
    with Child(["-m", "bench.peers.experiments_operator", client.config.server]) as child:
        answer = await asyncio.to_thread(child.line)
        if answer.strip() != "ready":
            raise RuntimeError("the operator's process did not start")
        return child.memory_bytes()


SUITE = Suite(name="experiments", title="Experiments", cases=cases, is_process=True)
