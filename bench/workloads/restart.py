"""Start where everything is done already: how long, how much memory, and how both grow.

The objects are like one that the operators themselves have handled, so nothing is left to write;
only their texts differ. Operators share a server, since none of them changes anything; kopf has its
own, because it keeps what it has seen in an annotation, which the others must not have to carry.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from bench.peers.widgets import text_for
from bench.series import Figures, Missed, Run, Runs, Series, case
from bench.suite import Case, Missing, Scale
from bench.workloads import stage
from bench.workloads.contenders import KOPF, Command, Operators
from bench.workloads.stage import OF_ITS_OWN, UNTIL_IDLE, Stage

_LATE = "z-meanwhile"
_LIMIT_S = 900.0
_COUNTS = (1_000, 10_000, 100_000)
_SLOPES = (
    (1, "words", 2_000, 20_000),
    (4, "words", 1_000, 10_000),
    (4, "noise", 1_000, 10_000),
    (32, "words", 500, 2_500),
)
"""Kilobytes of an object, what most of them are, and the numbers of objects that are compared."""
_ROUNDS = 5
_TIME = (
    "From the start of the process until an object that is new, and the last of the list, has its"
    " status."
)
_LIST = "The answer to a LIST; kopf's objects carry its annotation."
_SLOPE = "The growth from {:,} to {:,} objects, at rest, for each object."


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """Growth over the number of objects, and memory over their size."""
    counts: Sequence[int] = scale.pick((20,), _COUNTS, _COUNTS)
    found = _growing(counts, operators, rounds=scale.pick(1, _ROUNDS, _ROUNDS))
    if scale is not Scale.QUICK:
        for kilobytes, style, few, many in _SLOPES:
            found += _slopes(operators, kilobytes, style, few=few, many=many)
    return found


def _growing(counts: Sequence[int], operators: Operators, *, rounds: int) -> list[Case]:
    what, text = "restart with objects that are done", text_for(1_000)
    series = {
        count: Series(
            partial(_filled, operators, count, text=text),
            rounds=rounds,
            warms_up=False,
        )
        for count in counts
    }
    return [
        case(series, f"{what}, time", "s", "seconds", note=_TIME),
        case(series, f"{what}, processor time", "CPU s", "cpu_s", note=UNTIL_IDLE),
        case(series, f"{what}, memory", "MB at most", "peak_mb", note=UNTIL_IDLE),
        case(series, f"{what}, memory of its own", "MB", "private_mb", note=OF_ITS_OWN),
        case(series, f"{what}, size of the list", "MB", "list_mb", note=_LIST),
    ]


def _slopes(operators: Operators, kilobytes: int, style: str, *, few: int, many: int) -> list[Case]:
    @contextmanager
    def open() -> Iterator[Runs]:
        filled = partial(_filled, operators, text=text_for(kilobytes * 1_000), style=style)
        with filled(few) as less, filled(many) as more:
            yield {name: _slope(less[name], more[name], objects=many - few) for name in operators}

    series = Series(open, rounds=_ROUNDS, warms_up=False)
    what = f"memory for each object of {kilobytes} kB, mostly {style}"
    note = _SLOPE.format(few, many)
    return [
        case(series, what, "kB", "resident_mb", note=note),
        case(series, f"{what}, at most", "kB", "peak_mb", note=note),
    ]


def _slope(less: Run | Missing, more: Run | Missing, *, objects: int) -> Run | Missing:
    if isinstance(less, Missing) or isinstance(more, Missing):
        return less if isinstance(less, Missing) else more

    def run(figures: Figures) -> None:
        small: Figures = {}
        large: Figures = {}
        less(small)
        more(large)
        for key in ("resident_mb", "peak_mb"):
            figures[key] = (large[key] - small[key]) * 1e3 / objects

    return run


@contextmanager
def _filled(operators: Operators, count: int, *, text: int, style: str = "words") -> Iterator[Runs]:
    """A restart of each operator, with so many objects that are done."""
    apart = {name: command for name, command in operators.items() if name == KOPF}
    together = {name: command for name, command in operators.items() if name != KOPF}
    runs: dict[str, Run | Missing] = dict(_missing(operators))
    with ExitStack() as stack:
        for group in (together, apart):
            present = {name: each for name, each in group.items() if not isinstance(each, Missing)}
            if present:
                on = stack.enter_context(stage.opened())
                runs |= _prepared(on, present, text=text)
                on.ask("replicate", count=count, style=style)
        yield {name: runs[name] for name in operators}


def _missing(operators: Operators) -> Iterator[tuple[str, Missing]]:
    for name, command in operators.items():
        if isinstance(command, Missing):
            yield name, command


def _prepared(on: Stage, commands: dict[str, Command], *, text: int) -> dict[str, Run | Missing]:
    """Let each operator handle the object that is copied."""
    runs: dict[str, Run | Missing] = {}
    on.ask("model", text=text)
    on.ask("observe", name="model")
    for name, command in commands.items():
        try:
            with on.operator(command) as operator:
                operator.ready()
                operator.go()
                on.settled(operator)
                operator.rest()
            runs[name] = partial(_restart, on, command)
        except Missed as missed:
            runs[name] = Missing(str(missed))
    return runs


def _restart(on: Stage, command: Command, figures: Figures) -> None:
    on.ask("observe", name=_LATE)
    on.ask("add", name=_LATE)
    figures["list_mb"] = on.ask("list")["bytes"] / 1e6
    begin = time.perf_counter()
    try:
        with on.operator(command) as operator:
            operator.ready()
            operator.go()
            on.settled(operator, limit_s=_LIMIT_S)
            figures["seconds"] = time.perf_counter() - begin
            figures["cpu_s"] = operator.rest()
            figures["peak_mb"] = operator.memory_mb()
            figures["resident_mb"] = operator.memory_mb("VmRSS")
            figures["private_mb"] = operator.private_mb()
    finally:
        on.ask("delete", name=_LATE)
