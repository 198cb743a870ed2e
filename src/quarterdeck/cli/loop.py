"""Runs a command's coroutine."""

from collections.abc import Coroutine
from typing import Any


def run_loop(main: Coroutine[Any, Any, Any], *, fast: bool = True) -> Any:
    """Run on uvloop where it is installed; a short command starts faster without it."""
    import asyncio

    if fast:
        try:
            import uvloop
        except ImportError:
            pass
        else:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(main)
    return asyncio.run(main)
