"""Timing a function: enough repetitions to be measurable, in processor time."""

import time
from collections.abc import Callable

_SHORTEST_S = 0.02


def per_call_us(function: Callable[[], object], *, calls: int = 1) -> float:
    """Microseconds of processor time for one of the `calls` operations in `function`.

    Repeats until the clock's own steps do not matter. Processor time, because other programs on the
    machine must not count.
    """
    repeats = 1
    while True:
        start = time.process_time()
        for _ in range(repeats):
            function()
        spent = time.process_time() - start
        if spent >= _SHORTEST_S:
            return spent / (repeats * calls) * 1e6
        repeats *= max(2, int(_SHORTEST_S / spent) if spent > 0 else 10)
