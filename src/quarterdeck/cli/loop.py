"""Runs a command's coroutine and turns what goes wrong into one line and an exit code.

0 is success, 1 a failure, 2 bad usage or something refused before it began, 130 an interruption.
"""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

OK = 0
FAILED = 1
REFUSED = 2
INTERRUPTED = 130


def run_loop(main: Coroutine[Any, Any, Any], *, fast: bool = True) -> Any:
    """Run on uvloop where it is installed; a short command is quicker without."""
    if fast:
        try:
            import uvloop
        except ImportError:
            pass
        else:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(main)
    return asyncio.run(main)


def complain(command: str, message: object) -> None:
    """One line on stderr."""
    text = " ".join(str(message).split())
    print(f"quarterdeck {command}: {text}", file=sys.stderr)
