"""A fleet of simulated machines: from nothing to ready, rolled over, and at rest.

The hypervisor is the simulator with 2 s boots and no other latency, so that what is measured is
the operator and its API server, whose store is synced. There is no peer that runs without a
hypervisor: figures stand beside the calibration of the machine.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Scale, Suite


def cases(scale: Scale) -> Sequence[Case]:
    count, nodes = scale.pick((50, 5), (1_000, 50), (1_000, 50))
    resting = scale.pick(200, 10_000, 10_000)
    series = Series(
        lambda: _fleet(count, nodes, resting), rounds=scale.pick(1, 1, 3), warms_up=False
    )
    size = f"{count:,} machines on {nodes} nodes, 2 s boots, one step a reconcile, synced store"
    found = [
        case(series, "fleet from 0 to ready", "s", "ready_s", note=size),
        case(series, "fleet from 0 to ready, cost", "CPU s", "ready_cpu_s", note=size),
        case(
            series,
            "hypervisor calls of one machine until ready",
            "calls",
            "calls_each",
            note="The protocol's minimum is 6: id, clone, task, configure, start, task.",
        ),
        case(
            series,
            "fleet rolled to another image",
            "s",
            "roll_s",
            note="10 % surge, 5 % unavailable",
        ),
        replace(
            case(
                series,
                "fewest ready machines while rolling",
                "% of the fleet",
                "roll_lowest_%",
                note="must not fall below 95",
            ),
            is_more_better=True,
        ),
        case(
            series,
            "most machines while rolling",
            "% of the fleet",
            "roll_highest_%",
            note="must not rise above 110",
        ),
    ]
    note = (
        f"{resting:,} claims for one minute: processor time of the whole process, which is API "
        "server, operator and simulator; must stay below 1"
    )
    listed = case(series, "lists of VMs in a minute at rest", "calls", "rest_list_vms")
    return [*found, case(series, "claims at rest", "% of a core", "rest_%", note=note), listed]


@contextmanager
def _fleet(count: int, nodes: int, resting: int) -> Iterator[Runs]:
    def run(figures: Figures) -> None:
        command = ["-m", "bench.peers.machine_fleet", str(count), str(nodes), str(resting)]
        with Child(command) as process:
            line = process.line()
        if not line:
            raise Missed("the run ended without figures")
        figures.update(json.loads(line))
        if figures["roll_lowest_%"] < 95 or figures["roll_highest_%"] > 110.001:
            raise Missed("the roll-out broke its budget")
        if figures["rest_list_vms"] > 2:
            raise Missed("more than one list of VMs in 30 s")

    yield {OURS: run}


SUITE = Suite(
    name="machines",
    title="Fleets of machines",
    cases=cases,
    is_process=True,
)
