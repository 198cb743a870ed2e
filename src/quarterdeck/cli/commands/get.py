"""`quarterdeck get`: read objects."""

from typing import Annotated, Any

import typer

from quarterdeck.cli.command import CommandError, Debug, call, split_target
from quarterdeck.cli.connection import (
    Context,
    Everywhere,
    Kubeconfig,
    Labels,
    Namespace,
    patiently,
    reach,
    transport_of,
)
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import (
    Form,
    Output,
    columns,
    documents,
    reference,
    table_rows,
    with_namespaces,
)
from quarterdeck.client import requests
from quarterdeck.client.client import Client
from quarterdeck.client.interfaces import ApiResource
from quarterdeck.kit import json
from quarterdeck.wire.path import ResourcePath, build
from quarterdeck.wire.query import ListOptions

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"


def run(arguments: list[str]) -> int:
    """Print objects."""
    return call("get", get, arguments)


def get(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="pods, deploy, applications, …, or several: pods,deploy"
        ),
    ],
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One object.")] = "",
    output: Output = Form.TABLE,
    wide: Annotated[bool, typer.Option("--wide", help="All columns.")] = False,
    namespace: Namespace = "",
    everywhere: Everywhere = False,
    labels: Labels = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> None:
    """Print objects of a kind, or of several."""
    kind, name = split_target(kind, name)
    kinds = [each for each in kind.split(",") if each]
    if name and len(kinds) > 1:
        raise CommandError(f"{kind!r} are several kinds: a name goes with one", 2)
    options = ListOptions(label_selector=labels)

    async def main() -> str:
        async with reach(kubeconfig, context) as client:
            paths = []
            for each in kinds or [kind]:
                found = await patiently(
                    find(client, each), f"asking {client.config.server} what it serves"
                )
                paths.append(path_of(client, found, name, namespace, everywhere=everywhere))
            if output is Form.TABLE:
                tables = [await _table(client, path, options, wide=wide) for path in paths]
                return "\n\n".join(tables)
            listed = [(path, await _objects(client, path, options)) for path in paths]
            if output is Form.NAME:
                return "\n".join(
                    reference(item, path.resource, path.group)
                    for path, items in listed
                    for item in items
                )
            return documents([item for _, items in listed for item in items], output)

    print(run_loop(main(), fast=False))


async def find(client: Client, kind: str) -> ApiResource:
    """The resource a person means: its plural, singular, kind or a short name."""
    _, found = await client.resource_named(kind)
    return found


def path_of(
    client: Client, found: ApiResource, name: str, namespace: str, *, everywhere: bool
) -> ResourcePath:
    """Where to read.

    Raises:
        CommandError: if a name and all namespaces are asked for at once.
    """
    if everywhere and name:
        raise CommandError("a name and --all-namespaces exclude each other: give --namespace", 2)
    where = ""
    if found.namespaced and not everywhere:
        where = namespace or client.namespace
    return ResourcePath(*found.gvr, where, name)


async def _table(client: Client, path: ResourcePath, options: ListOptions, *, wide: bool) -> str:
    query = "" if path.name else options.build()
    target = build(path) + (f"?{query}" if query else "")
    answer = await patiently(
        transport_of(client).send(requests.plain(target, accept=TABLE)), f"reading {target}"
    )
    table: dict[str, Any] = json.decode(answer)
    if table.get("kind") != "Table":
        raise CommandError("the server makes no tables of this kind: use --output yaml")
    rows = table_rows(table, wide=wide)
    if len(rows) == 1:
        where = f" in namespace {path.namespace}" if path.namespace else ""
        return f"No {path.resource} found{where}."
    if not path.namespace:
        namespaced = with_namespaces(table, rows)
        rows = namespaced if any(row[0] for row in namespaced[1:]) else rows
    return columns(rows)


async def _objects(
    client: Client, path: ResourcePath, options: ListOptions
) -> list[dict[str, Any]]:
    resource = client.resource(path.gvr)
    if path.name:
        return [await resource.get(path.name, path.namespace)]
    return await patiently(resource.list(path.namespace, options), "reading")
