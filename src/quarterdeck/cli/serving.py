"""What commands that serve until a signal have in common: a port flag, lines, exit codes."""

import argparse
from collections.abc import Coroutine
from typing import Any

from quarterdeck.cli.loop import INTERRUPTED, OK, REFUSED, complain, run_loop


def serve_until_signal(command: str, main: Coroutine[Any, Any, Any]) -> int:
    """Run a service: 0 after a clean end, 2 if it cannot start, 130 if it is cut short."""
    from quarterdeck.app.errors import StartError
    from quarterdeck.app.signals import Interrupted

    try:
        run_loop(main)
    except StartError as error:
        complain(command, error)
        return REFUSED
    except (Interrupted, KeyboardInterrupt) as error:
        complain(command, str(error) or "interrupted")
        return INTERRUPTED
    return OK


def say(line: str) -> None:
    """Tell whoever started the service something, at once."""
    print(line, flush=True)


def port(text: str) -> int:
    """The type of a port flag."""
    if not text.isdigit() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return int(text)
