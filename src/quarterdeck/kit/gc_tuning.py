"""The garbage collector of a program that holds many objects for long.

A full collection walks everything that lives: with 100,000 cached objects it stops the event loop
for a tenth of a second or more, and finds nothing. What is there once the caches are full stays, so
it is set aside; what comes later is collected as ever, in fewer and larger steps.
"""

import gc

_THRESHOLDS = (5_000, 20, 20)


def tune_gc() -> None:
    """Collect once and set aside what is left; for programs, once, when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
