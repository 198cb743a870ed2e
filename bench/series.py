"""Runs that give several figures at once, and contenders that may fail to finish.

All runs of a series are made, interleaved, when its first figure is asked for; after that every
case reads its figure from them. A contender that misses a limit is not measured any further, and
says why in each figure it owes: it ends nothing but itself.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, repeat

from bench import profiling
from bench.suite import OURS, Case, Contenders, Measure, Missing

Figures = dict[str, float]
Run = Callable[[Figures], None]
"""One run; it notes its figures as it goes, so that those before a missed limit remain."""
Runs = Mapping[str, Run | Missing]


class Missed(Exception):
    """Raised by a run when a contender does not do its work in time, or ends."""


class Series:
    """Rounds of runs of several contenders.

    Args:
        open: sets up what the contenders share, yields their runs, and tears it down.
        rounds: how often each is measured.
        warms_up: whether one more round comes first and is dropped.
    """

    def __init__(
        self,
        open: Callable[[], AbstractContextManager[Runs]],
        *,
        rounds: int,
        warms_up: bool = True,
    ) -> None:
        self._open = open
        self.rounds = rounds
        self._warms_up = warms_up
        self._measured: dict[str, list[Figures]] = {}
        self._missing: dict[str, str] = {}
        self._is_recorded = False
        self._failure: Exception | None = None

    def contenders(self, figure: str) -> Contenders:
        """Each contender with the values of one figure.

        Raises:
            Exception: what broke a run, for every figure; runs that take minutes are not repeated.
        """
        if not self._is_recorded:
            self._is_recorded = True
            try:
                self._record()
            except Exception as error:
                self._failure = error
        if self._failure is not None:
            raise self._failure
        return {name: self._measure(name, figure) for name in self._measured}

    def _record(self) -> None:
        rounds, warm_ups = self.rounds, int(self._warms_up)
        with self._open() as runs:
            if profiling.is_wanted():
                runs, rounds, warm_ups = {OURS: runs[OURS]}, 1, 0
            self._measured = {name: [] for name in runs}
            for number in range(-warm_ups, rounds):
                for name, run in runs.items():
                    self._run(name, run, is_measured=number >= 0)

    def _run(self, name: str, run: Run | Missing, *, is_measured: bool) -> None:
        if isinstance(run, Missing):
            self._missing[name] = run.reason
        if name in self._missing or isinstance(run, Missing):
            return
        figures: Figures = {}
        try:
            run(figures)
        except Missed as missed:
            self._missing[name] = str(missed)
        if is_measured:
            self._measured[name].append(figures)

    def _measure(self, name: str, figure: str) -> Measure | Missing:
        rounds = self._measured[name]
        if name in self._missing and not (rounds and figure in rounds[-1]):
            return Missing(self._missing[name])
        return replayed([each[figure] for each in rounds])


def replayed(values: Sequence[float]) -> Measure:
    """The median for the round the harness drops, the values, and the median for rounds beyond.

    So a size that is measured less often than another changes neither its median nor its range.
    """
    median = statistics.median(values)
    sequence = chain([median], values, repeat(median))
    return lambda: next(sequence)


def case(
    series: Series | Mapping[int, Series],
    name: str,
    unit: str,
    figure: str,
    *,
    note: str = "",
    is_more_better: bool = False,
) -> Case:
    """A case for one figure of a series, or of one series for each size."""
    by_size = {1: series} if isinstance(series, Series) else series
    return Case(
        name=name,
        unit=unit,
        open=lambda size: nullcontext(by_size[size].contenders(figure)),
        sizes=tuple(by_size),
        note=note,
        is_more_better=is_more_better,
        rounds=max(each.rounds for each in by_size.values()),
    )


def generator_case(series: Series, what: str, figure: str) -> Case:
    """How busy the load generator was; named after it, so that no ratio is taken."""

    def open(_: int) -> AbstractContextManager[Contenders]:
        contenders = series.contenders(figure)
        return nullcontext({f"load generator at {name}": contenders[name] for name in contenders})

    return Case(
        name=f"{what}, the load generator",
        unit="% of its core",
        open=open,
        note="Near 100 the rate would be the generator's, and a lower bound for the server.",
        rounds=series.rounds,
    )
