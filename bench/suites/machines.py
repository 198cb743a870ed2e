"""A fleet of simulated machines: from nothing to ready, rolled over, and at rest.

The hypervisor is the simulator with 2 s boots and no other latency, so that what is measured is
the operator and its API server, whose store is synced. There is no peer that runs without a
hypervisor: figures stand beside the calibration of the machine.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Scale, Suite


def cases(scale: Scale) -> Sequence[Case]:
    count, nodes = scale.pick((50, 5), (1_000, 50), (1_000, 50))
    resting = scale.pick(200, 10_000, 10_000)
    rounds = scale.pick(1, 1, 3)
    fleet = Series(lambda: _fleet(count, nodes), rounds=rounds, warms_up=False)
    rest = Series(lambda: _rest(resting, nodes), rounds=rounds, warms_up=False)
    size = f"{count:,} machines on {nodes} nodes, 2 s boots, one step a reconcile, synced store"
    return [*_fleet_cases(fleet, size), *_rest_cases(rest, resting)]


def _fleet_cases(series: Series, size: str) -> Sequence[Case]:
    calls = "The protocol's minimum is 6: id, clone, task, configure, start, task."
    budget = "10 % surge, 5 % unavailable"
    lowest, highest = "fewest ready machines while rolling", "most machines while rolling"
    share = "% of the fleet"
    return [
        case(series, "fleet from 0 to ready", "s", "ready_s", note=size),
        case(series, "fleet from 0 to ready, cost", "CPU s", "ready_cpu_s", note=size),
        case(
            series,
            "hypervisor calls of one machine until ready",
            "calls",
            "calls_each",
            note=calls,
        ),
        case(series, "fleet rolled to another image", "s", "roll_s", note=budget),
        case(series, "fleet rolled to another image, cost", "CPU s", "roll_cpu_s", note=budget),
        case(
            series,
            lowest,
            share,
            "roll_lowest_%",
            note="must not fall below 95",
            is_more_better=True,
        ),
        case(series, highest, share, "roll_highest_%", note="must not rise above 110"),
    ]


def _rest_cases(series: Series, resting: int) -> Sequence[Case]:
    note = (
        f"{resting:,} claims for one minute: processor time of the whole process, which is API "
        "server, operator and simulator; must stay below 1"
    )
    return [
        case(series, "claims at rest", "% of a core", "rest_%", note=note),
        case(series, "lists of VMs in a minute at rest", "calls", "rest_lists_a_minute"),
    ]


@contextmanager
def _fleet(count: int, nodes: int) -> Iterator[Runs]:
    def run(figures: Figures) -> None:
        with Child(["-m", "bench.peers.machine_fleet", str(count), str(nodes)]) as process:
            for stage in ("first machines", "roll-out"):
                _read(process, figures, stage)
        if figures["roll_lowest_%"] < 95 or figures["roll_highest_%"] > 110.001:
            raise Missed("the roll-out broke its budget")

    yield {OURS: run}


@contextmanager
def _rest(resting: int, nodes: int) -> Iterator[Runs]:
    def run(figures: Figures) -> None:
        with Child(["-m", "bench.peers.machine_rest", str(resting), str(nodes)]) as process:
            _read(process, figures, "machines at rest")
        if figures["rest_lists_a_minute"] > 2.1:
            raise Missed("more than one list of VMs in 30 s")

    yield {OURS: run}


def _read(process: Child, figures: Figures, stage: str) -> None:
    """Note the figures of one stage."""
    line = process.line()
    if not line:
        raise Missed(f"the process ended without figures of the {stage}")
    figures.update(json.loads(line))


SUITE = Suite(
    name="machines",
    title="Fleets of machines",
    cases=cases,
    is_process=True,
)
