"""Bring every object to its status, follow changes that come in an open loop, restart."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from bench.peers import api_servers
from bench.peers.api_servers import KUBERNETES
from bench.series import Figures, Missed, Run, Series, case
from bench.suite import Case, Missing, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import Command, Operators
from bench.workloads.stage import OF_ITS_OWN, UNTIL_IDLE, Stage, Start

_OPEN_LOOP = "Open loop; from the event of the change to the event of the status."
_LATE_MS = 1_000.0
"""A load generator that is later than this did not keep the rate: the figure would be a lie."""
_MEANWHILE = "Until an object that is new, and the last of the list, has its status."


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What one run goes through."""

    objects: int
    rates_hz: Sequence[int] = ()
    seconds: float = 0.0
    """How long changes come at each rate."""
    restarts: bool = False


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """On our server; and shorter on kube-apiserver, which favors nobody, where there is one."""
    work = Workload(
        objects=scale.pick(40, 2_000, 5_000),
        rates_hz=scale.pick((50,), (100, 300), (100, 300)),
        seconds=scale.pick(0.5, 2.0, 5.0),
        restarts=True,
    )
    found = _cases(scale, operators, work)
    neutral = api_servers.starters()[KUBERNETES]
    if not isinstance(neutral, Missing):
        work = Workload(
            objects=scale.pick(40, 1_000, 2_000),
            rates_hz=scale.pick((), (100, 300), (100, 300)),
            seconds=scale.pick(0.0, 2.0, 5.0),
        )
        found += _cases(scale, operators, work, start=neutral, on=", on kube-apiserver")
    return found


def _cases(
    scale: Scale,
    operators: Operators,
    work: Workload,
    *,
    start: Start = api_servers.start_ours,
    on: str = "",
) -> list[Case]:
    runs = contenders.runs(operators, lambda command: _run_of(command, start, work))
    is_quick = scale is Scale.QUICK
    series = Series(
        lambda: nullcontext(runs), rounds=scale.pick(1, 3, 5), warms_up=not (is_quick or on)
    )

    def figure(name: str, unit: str, key: str, note: str = "") -> Case:
        return case(series, name + on, unit, key, note=note)

    what = f"{work.objects:,} objects brought to their status"
    found = [
        figure(f"{what}, processor time", "CPU ms an object", "cpu_ms", UNTIL_IDLE),
        figure(f"{what}, time", "s", "seconds", "Until the last status."),
        figure(f"{what}, memory", "MB at most", "memory_mb", UNTIL_IDLE),
        figure(f"{what}, memory of its own", "MB", "private_mb", OF_ITS_OWN),
        figure(f"{what}, writes", "an object", "writes"),
        figure(f"{what}, the server's processor time", "CPU ms an object", "server_ms", UNTIL_IDLE),
    ]
    for rate in work.rates_hz:
        for share in ("p50", "p99"):
            name = f"change to status at {rate} a second, {share}"
            found.append(figure(name, "ms", f"{share}_{rate}", _OPEN_LOOP))
    if work.restarts:
        what = f"restart with {work.objects:,} objects that are done"
        found += [
            figure(f"{what}, time from the start of the process", "s", "restart_s", _MEANWHILE),
            figure(f"{what}, processor time", "CPU s", "restart_cpu_s", UNTIL_IDLE),
        ]
    return found


def _run_of(command: Command, start: Start, work: Workload) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened(start) as on:
            on.ask("create", count=work.objects, clients=32)
            on.ask("observe")
            _converge(on, command, work, figures)
            if work.restarts:
                on.ask("add", name="z-meanwhile")
                _restart(on, command, figures)

    return run


def _converge(on: Stage, command: Command, work: Workload, figures: Figures) -> None:
    with on.operator(command) as operator:
        operator.ready()
        before, server_before = operator.cpu_s(), on.server.cpu_s()
        operator.go()
        seconds = on.settled(operator)
        cpu_s = operator.rest() - before
        figures |= {
            "seconds": seconds,
            "cpu_ms": cpu_s / work.objects * 1e3,
            "server_ms": (on.server.cpu_s() - server_before) / work.objects * 1e3,
            "memory_mb": operator.memory_mb(),
            "private_mb": operator.private_mb(),
            "writes": on.ask("writes")["writes"] / work.objects,
        }
        for rate in work.rates_hz:
            count = int(rate * work.seconds)
            late_ms = on.ask("touch", rate_hz=rate, count=count, of=work.objects)["late_ms"]
            if late_ms > _LATE_MS:
                raise Missed(f"the load generator was {late_ms:.0f} ms late at {rate} a second")
            on.settled(operator)
            delays = on.ask("delays")
            figures |= {f"{share}_{rate}": delays[f"{share}_ms"] for share in ("p50", "p99")}
            if rate != work.rates_hz[-1]:
                operator.rest()


def _restart(on: Stage, command: Command, figures: Figures) -> None:
    begin = time.perf_counter()
    with on.operator(command) as operator:
        operator.ready()
        operator.go()
        on.settled(operator)
        figures["restart_s"] = time.perf_counter() - begin
        figures["restart_cpu_s"] = operator.rest()
