"""Runs a command's coroutine, on an event loop or without one."""

import sys
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


def run_without_loop(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that only blocks, so that asyncio need not be loaded.

    Raises:
        EventLoopRequired: if it turns out to need a loop.
    """
    try:
        main.send(None)
    except StopIteration as done:
        return done.value
    main.close()
    from quarterdeck.client.blocking import EventLoopRequired

    raise EventLoopRequired


def has_loop() -> bool:
    """Whether an event loop runs in this thread; asks without loading asyncio."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def require_loop() -> None:
    """Make sure that an event loop runs; call it before anything is printed.

    Raises:
        EventLoopRequired: if none runs.
    """
    if not has_loop():
        from quarterdeck.client.blocking import EventLoopRequired

        raise EventLoopRequired
