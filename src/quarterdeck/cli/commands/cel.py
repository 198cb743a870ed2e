"""`quarterdeck cel`: evaluate a CEL expression."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import ReportForm, ReportOutput
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.cel.errors import CelError


def cel(
    expression: Annotated[
        str, Argument(metavar="EXPRESSION", help="Expression, such as self.replicas > 2.")
    ],
    filename: Annotated[
        str,
        Option(
            "--filename",
            "-f",
            metavar="PATH",
            help="YAML or JSON document bound to self; - for standard input.",
        ),
    ] = "",
    output: ReportOutput = ReportForm.TABLE,
) -> None:
    """Print type, cost and value of a CEL expression in which `self` is the given document."""
    from quarterdeck.cel.console import explain
    from quarterdeck.cel.errors import CelError
    from quarterdeck.cli.output import format_pretty, format_report

    try:
        found = explain(expression, _read_document(filename))
    except CelError as error:
        hint = "" if filename or "self" not in expression else "; bind self with --filename"
        raise CommandError(f"{_format_error(error)}{hint}", FAILED) from error
    if output is not ReportForm.TABLE:
        print(format_report(found, output))
        return
    value = format_pretty(found["value"])
    print(f"value  {value}\ntype   {found['type']}\ncost   {found['cost']}")


COMMAND = Command(cel)


def _format_error(error: "CelError") -> str:
    """An error on one line: the marked source of `str(error)` needs several."""
    from quarterdeck.cel.errors import CompileError

    if not isinstance(error, CompileError):
        return str(error)
    return "; ".join(
        f"line {each.line}, column {each.column}: {each.message}" for each in error.issues
    )


def _read_document(filename: str) -> object:
    from quarterdeck.kit import yaml

    if not filename:
        return None
    try:
        data = sys.stdin.buffer.read() if filename == "-" else Path(filename).read_bytes()
        return yaml.load(data)
    except OSError as error:
        raise CommandError(f"cannot read {filename}: {error.strerror or error}", REFUSED) from error
    except yaml.YamlError as error:
        raise CommandError(f"cannot parse {filename} as YAML: {error}", REFUSED) from error
