"""`quarterdeck watch`: show objects and their changes."""

from typing import Annotated

from quarterdeck.cli.changes import format_change, iterate_changes
from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.flags import (
    AllNamespaces,
    Context,
    Form,
    Kind,
    Kubeconfig,
    LabelSelector,
    Namespace,
    OneName,
    Output,
    split_target,
)
from quarterdeck.cli.parameters import Option


async def watch(
    kind: Kind,
    name: OneName = "",
    output: Output = Form.TABLE,
    count: Annotated[
        int, Option("--count", metavar="N", help="Stop after N changes; 0 for no limit.")
    ] = 0,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    labels: LabelSelector = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show the objects of a kind, then every change, until Ctrl-C."""
    from quarterdeck.cli.output import print_document
    from quarterdeck.cli.resource_paths import build_path, find_resource
    from quarterdeck.wire.query import ListOptions

    kind, name = split_target(kind, name)
    options = ListOptions(label_selector=labels)
    seen = 0
    async with connect(kubeconfig, context) as client:
        found = await with_progress(
            find_resource(client, kind), f"reading the list of resources of {client.config.server}"
        )
        path = build_path(client, found, name, namespace, all_namespaces=all_namespaces)
        async for type_, document in iterate_changes(client, path, options):
            print_document(format_change(type_, document, output))
            seen += 1
            if seen == count:
                return


COMMAND = Command(watch)
