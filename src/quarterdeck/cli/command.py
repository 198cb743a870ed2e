"""Commands written as typed functions: typer reads their flags, we read their failures.

Loaded only by the commands that need it: it costs more than the whole start of the server.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from quarterdeck.app.errors import StartError
from quarterdeck.app.resolution import SettingError
from quarterdeck.cli.loop import FAILED, INTERRUPTED, OK, REFUSED, complain
from quarterdeck.client.errors import ClientError
from quarterdeck.wire.status import ApiError


class CommandError(Exception):
    """Raised by a command that cannot go on; the message is one line with the fix."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")]


def split_target(kind: str, name: str) -> tuple[str, str]:
    """`KIND NAME` and `KIND/NAME` mean the same.

    Raises:
        CommandError: if both are given.
    """
    head, slash, tail = kind.partition("/")
    if not slash:
        return kind, name
    if name or not (head and tail):
        raise CommandError(f"{kind!r}: give KIND NAME or KIND/NAME", REFUSED)
    return head, tail


def command(name: str, function: Callable[..., Any]) -> Any:
    """The parser of a function."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(name=name, no_args_is_help=False)(function)
    return typer.main.get_command(app)


def call(name: str, function: Callable[..., Any], arguments: list[str]) -> int:
    """Run a command; returns its exit code, after one line for whatever went wrong."""
    is_debugging = "--debug" in arguments
    try:
        result = command(name, function).main(
            args=arguments, prog_name=f"quarterdeck {name}", standalone_mode=False
        )
        return int(result) if isinstance(result, int) else OK
    except typer.Exit as error:
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has seen enough
        return OK
    except Exception as error:
        if (usage := getattr(error, "format_message", None)) is not None:
            complain(name, f"{usage().rstrip('.')}; see quarterdeck {name} --help")
            return REFUSED
        if is_debugging:
            raise
        complain(name, explain(error))
        return error.code if isinstance(error, CommandError) else FAILED


def explain(error: BaseException) -> str:
    """One line for a failure."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case CommandError() | StartError() | SettingError() | ClientError():
            return str(error)
        case ApiError():
            return f"the server answered {error.code} {error.reason}: {error.message}"
        case OSError():
            return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
        case _:
            return f"{type(error).__name__}: {error}; run it with --debug to see where"
