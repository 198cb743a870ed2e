"""A leader ends: how long until the one that stood by does the next piece of work?"""

import signal
import time
from contextlib import nullcontext

from bench.series import Figures, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import INFORMER, KOPF, Command, Operators, without

_ABSENT = {KOPF: "it has no leases", INFORMER: "it has no leases"}
_NOTE = (
    "Lease {:g} s, renewed for {:g} s, tried every {:g} s, for everybody; all give the lease"
    " back when they are told to end."
)
_KILLED, _TOLD = signal.SIGKILL, signal.SIGTERM
_DEFAULTS = (15.0, 10.0, 2.0)
_QUICK = (2.0, 1.5, 0.2)


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """After SIGKILL and after SIGTERM."""
    timing = _QUICK if scale is Scale.QUICK else _DEFAULTS
    how = (_TOLD,) if scale is Scale.QUICK else (_TOLD, _KILLED)
    lease = "--lease=" + ",".join(f"{each:g}" for each in timing)
    runs = contenders.runs(
        without(operators, _ABSENT), lambda command: _run_of(command, lease, how)
    )
    series = Series(lambda: nullcontext(runs), rounds=scale.pick(1, 3, 5), warms_up=False)
    return [
        case(
            series,
            f"the leader ends by {each.name}: until the standby's first status",
            "s",
            each.name,
            note=_NOTE.format(*timing),
        )
        for each in how
    ]


def _run_of(command: Command, lease: str, how: tuple[signal.Signals, ...]) -> Run:
    def run(figures: Figures) -> None:
        for each in how:
            figures[each.name] = _take_over(command, lease, each)

    return run


def _take_over(command: Command, lease: str, how: signal.Signals) -> float:
    with stage.opened() as on:
        on.ask("create", count=10, clients=1)
        on.ask("observe")
        with (
            on.operator(command, lease, quiet=True) as leader,
            on.operator(command, lease, quiet=True) as standby,
        ):
            leader.ready()
            leader.go()
            on.settled(leader)
            standby.ready()
            standby.go()
            standby.rest()
            begin = time.perf_counter()
            leader.end(how)
            on.ask("add", name="after")
            on.settled(standby)
            return time.perf_counter() - begin
