"""A namespace with very much to do, and one with little: does the little one wait for the other?"""

import time
from contextlib import nullcontext

from bench.series import Figures, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import Command, Operators

_NOISY, _QUIET = "a-noisy", "b-quiet"
_NOTE = (
    "Everything waits when the operator starts; the quiet namespace is the last of the list. The"
    " longest of its {} objects, which is their 99th percentile too."
)


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """Until the quiet namespace is done, and until both are."""
    noisy, quiet = scale.pick((100, 3), (10_000, 10), (10_000, 10))
    runs = contenders.runs(operators, lambda command: _run_of(command, noisy, quiet))
    series = Series(lambda: nullcontext(runs), rounds=scale.pick(1, 3, 5), warms_up=False)
    what = f"{quiet} changes beside {noisy:,} of another namespace"
    return [
        case(series, f"{what}, until they are done", "s", "quiet_s", note=_NOTE.format(quiet)),
        case(series, f"{what}, until all are done", "s", "all_s"),
    ]


def _run_of(command: Command, noisy: int, quiet: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on:
            for namespace, count in ((_NOISY, noisy), (_QUIET, quiet)):
                on.ask("namespace", name=namespace)
                on.ask("create", count=count, clients=32, namespace=namespace)
            on.ask("observe", namespace=_QUIET)
            with on.operator(command) as operator:
                operator.ready()
                begin = time.perf_counter()
                operator.go()
                on.settled(operator)
                figures["quiet_s"] = time.perf_counter() - begin
                on.ask("observe")
                on.settled(operator)
                figures["all_s"] = time.perf_counter() - begin

    return run
