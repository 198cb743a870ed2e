"""`quarterdeck` and `qd`: find the command's module, parse its arguments, call it."""

import gc
import sys
from time import monotonic
from typing import TYPE_CHECKING

from quarterdeck.cli.commands import COMMANDS, PACKAGE, Found, load

if TYPE_CHECKING:
    from quarterdeck.cli.command import Command

_INTERRUPTED = 130
"""Exit code of SIGINT in shells, 128 + 2. Defined here because `exit_codes` is loaded later."""
_HELP = ("-h", "--help", "help")


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code; Ctrl-C while it loads prints no traceback."""
    code = 0
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # a failure at the end of the interpreter would be exit code 120
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except OSError as error:
        code = code or _report_output_failure(error)
    # the interpreter would walk all objects twice at its end: half of the time that `up` stops in
    gc.freeze()
    gc.disable()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command; returns its exit code."""
    if arguments and arguments[0] in ("--version", "-V"):
        from quarterdeck import __version__

        print(f"quarterdeck {__version__}")
        return 0
    if arguments and arguments[0] == "__complete":
        from quarterdeck.cli.word_completion import complete

        print("\n".join(complete(arguments[1:])))
        return 0
    here, rest = Found("quarterdeck", "", None, COMMANDS, PACKAGE), arguments
    while rest and rest[0] in here.group:
        here, rest = load(here, rest[0]), rest[1:]
    if here.command is not None and not (here.group and rest and _is_word(rest[0])):
        return execute(here.command, here.prog, rest)
    if not rest or rest[0] in _HELP:
        print(build_usage(here))
        return 0 if rest else 2
    from quarterdeck.kit.similar import suggest

    hint = suggest(rest[0], here.group) or f"; see {here.prog} --help"
    print(f"{here.prog}: unknown command {rest[0]!r}{hint}", file=sys.stderr)
    return 2


def _is_word(argument: str) -> bool:
    return not argument.startswith("-")


def execute(command: "Command", prog: str, arguments: list[str]) -> int:
    """Parse the arguments and call the command; failures become one line and an exit code."""
    from quarterdeck.cli.command import StartTime
    from quarterdeck.cli.exit_codes import print_error, translate

    started = monotonic()  # kit.clock would load asyncio, which --help does not need
    try:
        options = command.build_parser(prog).parse_intermixed_args(arguments)
        return command.call(options, StartTime(started))
    except SystemExit as error:  # argparse printed the help
        return int(error.code or 0)
    except BaseException as error:
        if "--debug" in arguments and isinstance(error, Exception):
            raise
        code, message = translate(error)
        if message:
            print_error(prog, message)
        else:
            _discard_output()  # the reader closed the pipe
        return code


def _report_output_failure(error: OSError) -> int:
    """The exit code when standard output cannot be written; a closed pipe is no failure."""
    from quarterdeck.cli.exit_codes import print_error, translate

    _discard_output()
    code, message = translate(error)
    if message:
        print_error("quarterdeck", message)
    return code


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not fail at its end."""
    import os

    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # replaced by a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def build_usage(here: Found) -> str:
    """What `--help` of a group prints."""
    width = max(len(name) for name in here.group)
    lines = [f"  {name.ljust(width)}  {summary}" for name, summary in here.group.items()]
    head = [f"usage: {here.prog} COMMAND ..."]
    if here.summary:
        head += ["", f"{here.summary}."]
    tail = f"Use `{here.prog} COMMAND --help` for the flags of a command."
    return "\n".join([*head, "", "commands:", *lines, "", tail])
