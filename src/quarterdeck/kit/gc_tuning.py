"""The garbage collector of a program that holds many objects for long.

A full collection walks every live object: with 100,000 cached objects it stops the event loop
for a tenth of a second or more, and finds nothing. Objects that exist once the caches are full
stay, so they are frozen: excluded from collection. Later ones are collected as usual, in fewer and
larger steps.
"""

import contextlib
import gc
from collections.abc import Iterator

_THRESHOLDS = (5_000, 20, 20)


def tune_gc() -> None:
    """Freeze all existing objects; programs call it once, when everything is loaded.

    Generations that were collected during the start are not walked again, and a program that
    started with the collector disabled walks nothing: a full collection of `up` takes a seventh of
    its start and finds 0.2 MB.
    """
    if gc.isenabled():
        gc.collect(1)
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


@contextlib.contextmanager
def pause_gc() -> Iterator[None]:
    """Collect nothing while much is loaded: modules at the start of a program, rows of a log.

    The loaded objects are not garbage, and looking for garbage takes a tenth of the time of loading
    modules and half of that of loading rows. A program that runs within calls `resume_gc` when it
    is ready.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def resume_gc() -> None:
    """Freeze the objects that the start created, and collect garbage from now on."""
    tune_gc()
    gc.enable()
