"""`quarterdeck crds`: the definitions of our kinds, to be applied."""

from typing import Annotated

import typer

from quarterdeck.app.parts import choose, kinds_of
from quarterdeck.cli.command import Debug, call
from quarterdeck.cli.output import Form, Output, documents
from quarterdeck.meta import crd


def run(arguments: list[str]) -> int:
    """Print definitions."""
    return call("crds", crds, arguments)


def crds(
    operators: Annotated[
        str, typer.Option("--operators", metavar="A,B", help="Only of these operators.")
    ] = "",
    output: Output = Form.YAML,
    debug: Debug = False,
) -> None:
    """Print CustomResourceDefinitions: `quarterdeck crds | kubectl apply -f -`."""
    parts = choose([name.strip() for name in operators.split(",") if name.strip()])
    found = crd.manifests(kinds_of(parts))
    if output in (Form.NAME, Form.TABLE):
        print("\n".join(each["metadata"]["name"] for each in found))
    else:
        print(documents(found, output))
