"""The machine a run happened on: how fast, how busy, and with which versions."""

import importlib.metadata
import os
import platform
import statistics
import sys
import sysconfig
import time
from collections.abc import Iterable
from typing import Any

from bench import programs as known_programs

_LOOPS = 200_000
_TRIES = 5


def describe(distributions: Iterable[str], programs: Iterable[str] = ()) -> dict[str, Any]:
    """Everything a reader needs to judge the figures."""
    return {
        "python": platform.python_version(),
        "python_build": python_build(),
        "implementation": sys.implementation.name,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "calibration": calibrate(),
        "load": load(),
        "versions": {
            **{name: version(name) for name in ("quarterdeck", *distributions)},
            **{name: known_programs.version(name) for name in programs},
        },
    }


UNOPTIMIZED = "built without optimizations"


def python_build() -> str:
    """How this Python was built; one that is not optimized takes a quarter longer.

    Debian optimizes its own, but does not record that among the arguments of the build.
    """
    if "deb_system" in sysconfig.get_scheme_names():
        return "Debian's build"
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return "optimized build" if "--enable-optimizations" in arguments else UNOPTIMIZED


def calibrate() -> float:
    """How many million steps of a fixed pure-Python loop this core does in a second, now.

    Two runs can only be compared in absolute figures if this is the same; ratios within a run
    are safe.
    """
    rates = []
    for _ in range(_TRIES):
        start = time.perf_counter()
        total = 0
        for number in range(_LOOPS):
            total += number & 7
        rates.append(_LOOPS / (time.perf_counter() - start) / 1e6)
    return round(statistics.median(rates), 2)


def load() -> list[float]:
    """The load averages, where the system has them."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []


def version(distribution: str) -> str | None:
    """The installed version of a distribution; None without it."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def pin(core: int) -> bool:
    """Keep this process on one core; False where that cannot be done."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) <= core:
        return False
    os.sched_setaffinity(0, {allowed[core]})
    return True


def affinity() -> set[int] | None:
    """The cores this process may use, to be given back to `restore`."""
    return set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def restore(cores: set[int] | None) -> None:
    """Undo `pin`."""
    if cores is not None:
        os.sched_setaffinity(0, cores)
