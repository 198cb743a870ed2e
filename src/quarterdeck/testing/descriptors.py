"""Finds file descriptors that a test has left open.

    before = list_descriptors()
    ...
    leaked = find_leaked_descriptors(before)

Works where `/proc/self/fd` exists; elsewhere nothing is ever found.
"""

import gc
import os
import threading
import time
from collections.abc import Mapping

_FOLDER = "/proc/self/fd"
_IGNORED = ("/dev/null", "/dev/urandom", "/dev/random")
_TRY_EVERY_S = 0.02


def list_descriptors() -> dict[int, str]:
    """The open descriptors of this process, each with what it is: a path, or `socket:[17]`."""
    found = {}
    try:
        names = os.listdir(_FOLDER)
    except OSError:
        return {}
    for name in names:
        try:
            target = os.readlink(f"{_FOLDER}/{name}")
        except OSError:
            continue  # the one that listed the folder, or one closed since by another thread
        if not target.startswith(_IGNORED):
            found[int(name)] = target
    return found


def find_leaked_descriptors(before: Mapping[int, str], *, within_s: float = 30.0) -> dict[int, str]:
    """Descriptors that are open now and were not before.

    A thread may still be closing what it had opened, and garbage may still hold a descriptor. So
    what is found is looked at again, for at most `within_s` seconds; a run without a leak never
    waits.
    """
    leaked = _compare(before)
    if not leaked:
        return {}
    deadline, pause = time.monotonic() + within_s, threading.Event()
    while True:
        gc.collect()  # each time: a thread that ends meanwhile leaves garbage behind
        leaked = _compare(before)
        if not leaked or time.monotonic() >= deadline:
            return leaked
        pause.wait(_TRY_EVERY_S)


def _compare(before: Mapping[int, str]) -> dict[int, str]:
    now = list_descriptors()
    return {number: target for number, target in now.items() if before.get(number) != target}
