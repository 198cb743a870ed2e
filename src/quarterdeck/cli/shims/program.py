"""Runs the programs: help needs no server, and failures are one line."""

import sys
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from quarterdeck.cli.exit_codes import print_error, translate


def run_program(
    name: str, help_text: str, start: Callable[[list[str]], Coroutine[Any, Any, None]]
) -> NoReturn:
    """Run a program until it ends, and exit with its code."""
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(help_text)
        sys.exit(0)
    from quarterdeck.cli.loop import run_loop

    try:
        run_loop(start(arguments))
    except BaseException as error:
        code, message = translate(error)
        if message:
            print_error(name, message)
        sys.exit(code)
    sys.exit(0)
