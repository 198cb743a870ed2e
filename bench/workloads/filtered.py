"""Events that mean nothing to an operator: a status field of somebody else changes."""

from contextlib import nullcontext

from bench.series import Figures, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import Command, Operators
from bench.workloads.stage import UNTIL_IDLE

_OBJECTS = 100


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """What an event costs that is filtered."""
    events = scale.pick(200, 5_000, 5_000)
    runs = contenders.runs(operators, lambda command: _run_of(command, events))
    rounds = scale.pick(1, 5, 5)
    series = Series(lambda: nullcontext(runs), rounds=rounds, warms_up=rounds > 1)
    unit = "CPU ms for 1,000 events"
    return [case(series, "events that are filtered", unit, "cpu_ms", note=UNTIL_IDLE)]


def _run_of(command: Command, events: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on:
            on.ask("create", count=_OBJECTS, clients=32)
            on.ask("observe")
            with on.operator(command) as operator:
                operator.ready()
                operator.go()
                on.settled(operator)
                before = operator.rest()
                on.ask("beat", count=events, of=_OBJECTS)
                figures["cpu_ms"] = (operator.rest() - before) / events * 1e6

    return run
