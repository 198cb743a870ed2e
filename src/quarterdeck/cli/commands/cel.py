"""`quarterdeck cel`: try an expression of Kubernetes' expression language."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from quarterdeck.cel.errors import CelError
from quarterdeck.cli.command import CommandError, Debug, call
from quarterdeck.cli.output import Form, Output, pretty
from quarterdeck.kit import yaml


def run(arguments: list[str]) -> int:
    """Evaluate an expression."""
    return call("cel", cel, arguments)


def cel(
    expression: Annotated[str, typer.Argument(metavar="EXPRESSION", help="self.replicas > 2")],
    filename: Annotated[
        str,
        typer.Option("--filename", "-f", metavar="PATH", help="What self is; - for stdin."),
    ] = "",
    output: Output = Form.TABLE,
    debug: Debug = False,
) -> None:
    """Print type, cost and value of an expression in which `self` is the given document."""
    from quarterdeck.cel.console import explain

    try:
        found = explain(expression, _document(filename))
    except CelError as error:
        hint = "" if filename or "self" not in expression else "; say what self is with --filename"
        raise CommandError(f"{error}{hint}", 1) from error
    if output is Form.JSON:
        print(pretty(found))
        return
    value = pretty(found["value"])
    print(f"value  {value}\ntype   {found['type']}\ncost   {found['cost']}")


def _document(filename: str) -> object:
    if not filename:
        return None
    try:
        data = sys.stdin.buffer.read() if filename == "-" else Path(filename).read_bytes()
        return yaml.load(data)
    except OSError as error:
        raise CommandError(f"cannot read {filename}: {error.strerror or error}", 2) from error
    except yaml.YamlError as error:
        raise CommandError(f"{filename} is not YAML: {error}", 2) from error
