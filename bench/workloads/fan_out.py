"""One ConfigMap that many objects depend on changes."""

import time
from contextlib import nullcontext

from bench.series import Figures, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import INFORMER, KOPF, Command, Operators, without
from bench.workloads.stage import UNTIL_IDLE

_ABSENT = {
    KOPF: "it maps no events of one kind to objects of another",
    INFORMER: "it maps no events of one kind to objects of another",
}


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """Until every object has its new status, and what it costs."""
    objects = scale.pick(30, 1_000, 1_000)
    runs = contenders.runs(without(operators, _ABSENT), lambda command: _run_of(command, objects))
    rounds = scale.pick(1, 5, 5)
    series = Series(lambda: nullcontext(runs), rounds=rounds, warms_up=rounds > 1)
    what = f"a ConfigMap changes that {objects:,} objects share"
    return [
        case(series, f"{what}, until the last status", "s", "seconds"),
        case(series, f"{what}, processor time", "CPU ms an object", "cpu_ms", note=UNTIL_IDLE),
    ]


def _run_of(command: Command, objects: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on:
            on.ask("create", count=objects, clients=32)
            on.ask("observe")
            on.ask("share", size=0)
            with on.operator(command, "--fan-out") as operator:
                operator.ready()
                operator.go()
                on.settled(operator)
                before = operator.rest()
                begin = time.perf_counter()
                on.ask("share", size=1)
                on.settled(operator)
                figures["seconds"] = time.perf_counter() - begin
                figures["cpu_ms"] = (operator.rest() - before) / objects * 1e3

    return run
