"""How every operator of ours in Python begins and ends."""

import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any

from bench import profiling

WORKERS = 20
"""How many objects are worked on at once, where an operator lets one choose."""


def ready() -> None:
    """Say that everything is imported, wait for the word, and from then on end with the input."""
    print("ready", flush=True)
    sys.stdin.readline()
    profile = profiling.begin() if profiling.is_wanted() else None

    def watch() -> None:
        sys.stdin.read()
        if profile is not None:
            profile.disable()
            profiling.show(profile)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def run(main: Coroutine[Any, Any, Any]) -> None:
    """Run on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        import asyncio

        asyncio.run(main)
    else:
        uvloop.run(main)
