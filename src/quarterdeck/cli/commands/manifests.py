"""`quarterdeck manifests`: everything needed to run in a cluster, without kustomize."""

from typing import Annotated, Any

import typer

from quarterdeck.app.parts import choose
from quarterdeck.cli.command import CommandError, Debug, call
from quarterdeck.cli.loop import REFUSED
from quarterdeck.cli.output import Form, Output, documents


def run(arguments: list[str]) -> int:
    """Print manifests."""
    return call("manifests", manifests, arguments)


def manifests(
    image: Annotated[
        str, typer.Option("--image", metavar="IMAGE", help="The image of the operators.")
    ] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Where they run.")
    ] = "",
    operators: Annotated[
        str, typer.Option("--operators", metavar="A,B", help="Only of these operators.")
    ] = "",
    samples: Annotated[
        bool, typer.Option("--samples", help="Print sample objects instead.")
    ] = False,
    output: Output = Form.YAML,
    debug: Debug = False,
) -> None:
    """Print manifests: `quarterdeck manifests | kubectl apply -f -`."""
    from quarterdeck.app.manifests import IMAGE, NAMESPACE, Place, everything
    from quarterdeck.meta import names

    parts = choose([name.strip() for name in operators.split(",") if name.strip()])
    found: list[dict[str, Any]]
    if samples:
        found = [dict(sample) for part in parts for sample in part.samples()]
    else:
        if namespace and (problems := names.dns1123_label(namespace)):
            raise CommandError(f"--namespace is {namespace!r}: {problems[0]}", REFUSED)
        place = Place(namespace or NAMESPACE, image or IMAGE)
        found = [dict(each) for each in everything(place, parts)]
    if output in (Form.NAME, Form.TABLE):
        print("\n".join(f"{each['kind']}/{each['metadata']['name']}" for each in found))
    else:
        print(documents(found, output))
