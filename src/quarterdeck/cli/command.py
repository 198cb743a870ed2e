"""A command: a typed function, the flags read from its signature, and how it ends.

    COMMAND = Command(top)

    async def top(name: Annotated[str, Argument(metavar="NAME", help="Cluster to show.")]) -> None:
        \"\"\"Show load and capacity of a cluster.\"\"\"

The first paragraph of the docstring is the description in `--help`. The function may be a
coroutine, returns an exit code or None, and raises what `cli.exit_codes` translates into one line.

A command with `settings="up"` or `"run"` also has the flags of `app.settings`; a parameter of type
`EffectiveSettings` receives the settings in force, one of type `StartTime` the time of the call.
"""

import argparse
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, NewType

from quarterdeck.cli.parameters import (
    Parameter,
    Parser,
    add_json_alias,
    add_parameter,
    read_parameters,
)

StartTime = NewType("StartTime", float)
"""Monotonic time, in seconds, at which the command was called."""


class Command:
    """A function that the command line can call."""

    def __init__(
        self, function: Callable[..., Any], *, settings: str = "", only_reads: bool = False
    ) -> None:
        self._function = function
        self._settings = settings
        self._only_reads = only_reads
        """Whether to run without an event loop first, as loading one takes longer than a read."""

    @property
    def description(self) -> str:
        """What it does, for `--help`: the first paragraph of its docstring, on one line."""
        return " ".join((self._function.__doc__ or "").partition("\n\n")[0].split())

    def build_parser(self, prog: str) -> Parser:
        """A parser for its flags and arguments."""
        epilog = ""
        if self._settings:
            from quarterdeck.cli.settings import EPILOG

            epilog = EPILOG
        parser = Parser(prog, self.description, epilog)
        parameters = list(read_parameters(self._function))
        for parameter in parameters:
            add_parameter(parser, parameter)
        add_json_alias(parser, parameters)
        if self._settings:
            from quarterdeck.cli.settings import add_settings

            add_settings(parser, self._settings)
        parser.add_argument(
            "--debug", action="store_true", help="Show a traceback when something fails."
        )
        return parser

    def call(self, options: argparse.Namespace, started: StartTime) -> int:
        """Call the function with parsed options; returns its exit code."""
        from quarterdeck.cli.lean_start import import_msgspec

        import_msgspec()
        values = {
            each.name: self._resolve_value(each, options, started)
            for each in read_parameters(self._function)
        }
        if self._only_reads:
            from quarterdeck.cli.loop import run_without_loop
            from quarterdeck.client.blocking import EventLoopRequired

            with contextlib.suppress(EventLoopRequired):
                return int(run_without_loop(self._function(**values)) or 0)
        result = self._function(**values)
        if isinstance(result, Coroutine):
            from quarterdeck.cli.loop import run_loop

            result = run_loop(result, fast=False)
        return int(result or 0)

    def _resolve_value(
        self, parameter: Parameter, options: argparse.Namespace, started: StartTime
    ) -> Any:
        if parameter.spec is not None:
            value = getattr(options, parameter.name)
            return parameter.default if value == [] else value
        if parameter.members:
            return parameter.type(
                **{
                    each.name: self._resolve_value(each, options, started)
                    for each in parameter.members
                }
            )
        if parameter.type is StartTime:
            return started
        from quarterdeck.cli.settings import resolve_settings

        return resolve_settings(self._settings, options)
