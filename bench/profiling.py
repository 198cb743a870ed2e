"""Profiles of our own processes: `--profile` asks for them, whoever starts or is one obeys."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cProfile
    from pathlib import Path

_WANTED = "QUARTERDECK_BENCH_PROFILE"
_LINES = 25


def want() -> None:
    """From now on, processes of ours that are started are profiled."""
    os.environ[_WANTED] = "1"


def is_wanted() -> bool:
    """Whether this process, or one it starts, is to be profiled."""
    return bool(os.environ.get(_WANTED))


def begin() -> "cProfile.Profile":
    """A profile of this thread from now on."""
    import cProfile

    profile = cProfile.Profile()
    profile.enable()
    return profile


def show(profile: "cProfile.Profile | Path") -> None:
    """The functions most time was spent in, on standard error."""
    import pstats

    source = os.fspath(profile) if isinstance(profile, os.PathLike) else profile
    stats = pstats.Stats(source, stream=sys.stderr)
    stats.sort_stats("tottime").print_stats(_LINES)
