"""Changes come faster and faster: up to which rate does an operator keep up?"""

from contextlib import nullcontext

from bench.series import Figures, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import Command, Operators

_RATES_HZ = (50, 100, 200, 400, 800)
_LIMIT_MS = 250.0
"""An operator that needs longer for one change of a hundred does not keep up."""
_NOTE = (
    "The highest of {} at which 99 of 100 changes have their status within {:.0f} ms; open loop,"
    " {:g} s each. Server and load generator share a core, and end it too when they fall behind:"
    " the last is a lower bound."
)


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """The last rate before the knee."""
    objects, seconds = scale.pick((40, 0.5), (1_000, 2.5), (1_000, 2.5))
    rates = _RATES_HZ[: scale.pick(1, len(_RATES_HZ), len(_RATES_HZ))]
    runs = contenders.runs(operators, lambda command: _run_of(command, rates, seconds, objects))
    series = Series(lambda: nullcontext(runs), rounds=scale.pick(1, 5, 5), warms_up=False)
    note = _NOTE.format(", ".join(str(rate) for rate in rates), _LIMIT_MS, seconds)
    what = "changes that an operator keeps up with"
    return [case(series, what, "a second", "knee_hz", note=note, is_more_better=True)]


def _run_of(command: Command, rates: tuple[int, ...], seconds: float, objects: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on:
            on.ask("create", count=objects, clients=32)
            on.ask("observe")
            with on.operator(command) as operator:
                operator.ready()
                operator.go()
                on.settled(operator)
                figures["knee_hz"] = 0.0
                for rate in rates:
                    operator.rest()
                    count = int(rate * seconds)
                    late_ms = on.ask("touch", rate_hz=rate, count=count, of=objects)["late_ms"]
                    on.settled(operator)
                    if max(late_ms, on.ask("delays")["p99_ms"]) > _LIMIT_MS:
                        return
                    figures["knee_hz"] = float(rate)

    return run
