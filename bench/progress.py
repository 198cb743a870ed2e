"""How far a run is: what it will take, what it has taken, what went wrong."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from bench import results
from bench.suite import Scale

ROUGH_MIN = {Scale.QUICK: 2, Scale.STANDARD: 15, Scale.FULL: 135}
"""All suites on two cores, where no earlier run tells."""


class Progress:
    """The lines between the tables."""

    def __init__(self, names: Sequence[str], scale: Scale) -> None:
        self._names = names
        self._scale = scale
        self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._problems: dict[str, str] = {}

    def start(self) -> str:
        """What is going to happen, and for how long."""
        count = f"{len(self._names)} suite{'s' if len(self._names) > 1 else ''}"
        return f"bench: {count}, {self._scale.value} scale; {estimate(self._names, self._scale)}"

    def suite(self, name: str, title: str) -> str:
        """The line above a suite."""
        at = self._names.index(name) + 1
        return f"[{at}/{len(self._names)}, {_clock(self._elapsed())}] {name}: {title}"

    def done(self, name: str, seconds: float, problem: str = "") -> None:
        """A suite has ended."""
        self._seconds[name] = seconds
        if problem:
            self._problems[name] = problem

    def end(self) -> list[str]:
        """The lines below everything."""
        each = ", ".join(f"{name} {_clock(spent)}" for name, spent in self._seconds.items())
        lines = [f"bench: {_clock(self._elapsed())} in total ({each})"]
        return lines + [f"bench: {name} failed: {why}" for name, why in self._problems.items()]

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began


def estimate(names: Sequence[str], scale: Scale, folder: Path | None = None) -> str:
    """How long the suites took when they were last recorded at this scale."""
    folder = folder or results.folder_for(scale.value)
    known = {name: _seconds(folder / f"{name}.json", scale) for name in names}
    if not all(known.values()):
        return f"all of them take about {ROUGH_MIN[scale]} minutes on 2 cores"
    return f"they took {_clock(sum(known.values()))} when they were last recorded"


def _seconds(path: Path, scale: Scale) -> float:
    if not path.exists():
        return 0.0
    result = json.loads(path.read_text())
    return float(result.get("seconds", 0.0)) if result.get("scale") == scale.value else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
