"""Runs that give several figures at once: measured one time, asked by one case for each figure."""

from collections.abc import Callable, Mapping

from bench.suite import Measure

Run = Callable[[], Mapping[str, float]]


class Recording:
    """Runs that are made when first asked for, and answer every case after that.

    With `once` there is a single run, also for the round that warms up.
    """

    def __init__(self, run: Run, *, once: bool = False) -> None:
        self._run = run
        self._once = once
        self._runs: list[Mapping[str, float]] = []

    def figure(self, name: str) -> Measure:
        """One figure of the first run, then of the second, …"""
        position = 0

        def measure() -> float:
            nonlocal position
            wanted = 0 if self._once else position
            if wanted == len(self._runs):
                self._runs.append(self._run())
            position += 1
            return self._runs[wanted][name]

        return measure
