"""Objects come, change and go for a long time: does memory, a file or a thread stay behind?"""

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from bench import knobs
from bench.series import Figures, Run, Runs, Series, case
from bench.suite import Case, Missing, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import Command, Operators
from bench.workloads.stage import Operator

_SAMPLES = 40
_FEWEST = 4
"""With fewer there is no second half to speak of."""


class Sample(NamedTuple):
    """What a process holds at a moment."""

    at_s: float
    memory_mb: float
    files: int
    threads: int


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """What grows; one run each, since a leak shows in one."""
    seconds = knobs.soak_s(scale.pick(1.0, 0.0, 600.0))
    rate_hz, objects = scale.pick((200, 5), (0, 0), (50, 60))
    runs = contenders.runs(
        operators, lambda command: _run_of(command, seconds, rate_hz=rate_hz, objects=objects)
    )
    series = Series(partial(_at_once, runs), rounds=1, warms_up=False)
    note = (
        f"{seconds / 60:.3g} minutes of {rate_hz} creations, changes and deletions a second; all"
        " operators at once, each on a server of its own"
    )
    return [
        case(series, f"operator, {name}", unit, figure, note=note)
        for figure, (name, unit) in _FIGURES.items()
    ]


_FIGURES = {
    "memory": ("memory at the end", "MB"),
    "slope": ("growth of the memory in the second half", "MB an hour"),
    "files": ("files and sockets gained in the second half", "files"),
    "threads": ("threads gained in the second half", "threads"),
}


@contextmanager
def _at_once(runs: Runs) -> Iterator[Runs]:
    """All of them run side by side: what stays behind is counted here, and no time is."""
    present = {name: run for name, run in runs.items() if not isinstance(run, Missing)}
    notes: dict[str, Figures] = {name: {} for name in present}
    with ThreadPoolExecutor(len(present)) as pool:
        begun = {name: pool.submit(run, notes[name]) for name, run in present.items()}
        yield {
            name: run if isinstance(run, Missing) else _ended(begun[name], notes[name])
            for name, run in runs.items()
        }


def _ended(begun: Future[None], notes: Figures) -> Run:
    def run(figures: Figures) -> None:
        begun.result()
        figures |= notes

    return run


def _run_of(command: Command, seconds: float, *, rate_hz: float, objects: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on, on.operator(command) as operator:
            operator.ready()
            operator.go()
            begin = time.monotonic()
            samples: list[Sample] = []
            while (now := time.monotonic() - begin) < seconds or len(samples) < _FEWEST:
                on.ask("churn", rate_hz=rate_hz, seconds=seconds / _SAMPLES, of=objects)
                samples.append(_sampled(operator, now))
            figures |= gains(samples)

    return run


def _sampled(operator: Operator, at_s: float) -> Sample:
    operator.check()
    return Sample(at_s, operator.memory_mb("VmRSS"), operator.files(), operator.threads())


def gains(samples: list[Sample]) -> Figures:
    """What the second half of the samples says about growth."""
    late = samples[len(samples) // 2 :]
    slope, _ = statistics.linear_regression(
        [each.at_s for each in late], [each.memory_mb for each in late]
    )
    return {
        "memory": late[-1].memory_mb,
        "slope": slope * 3600,
        "files": late[-1].files - late[0].files,
        "threads": late[-1].threads - late[0].threads,
    }
