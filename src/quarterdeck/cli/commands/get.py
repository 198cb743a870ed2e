"""`quarterdeck get`: show objects."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands.watch import watch
from quarterdeck.cli.connection import connect, get_transport, with_progress
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import (
    AllNamespaces,
    Context,
    Kubeconfig,
    LabelSelector,
    Namespace,
    OneName,
    split_names,
    split_target,
)
from quarterdeck.cli.output_format import OutputFormat
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"


async def get(
    kind: Annotated[
        str,
        Argument(
            metavar="KIND", help="Kind, plural, short name or category; several: pods,deploy."
        ),
    ],
    name: OneName = "",
    output: Annotated[
        str,
        Option(
            "--output",
            "-o",
            metavar="FORMAT",
            help="table, wide, yaml, json, name, jsonpath=TEMPLATE or custom-columns=HEAD:PATH,...",
        ),
    ] = "table",
    wide: Annotated[bool, Option("--wide", help="Show all columns, as -o wide.")] = False,
    follow: Annotated[
        bool, Option("--watch", "-w", help="Show the objects, then every change, until Ctrl-C.")
    ] = False,
    count: Annotated[
        int, Option("--count", metavar="N", help="With --watch: stop after N lines; 0 for none.")
    ] = 0,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    labels: LabelSelector = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show objects of one kind, of several, or of a category such as `all`."""
    from quarterdeck.wire.query import ListOptions

    form = OutputFormat.parse(output)
    kind, name = split_target(kind, name)
    kinds = split_names(kind) or [kind]
    if (name or follow) and len(kinds) > 1:
        what = repr(name) if name else "--watch"
        raise CommandError(f"cannot get {what} of several kinds ({kind}): give one", REFUSED)
    if follow:
        await watch(
            kind,
            name,
            form.get_watch_form(),
            count,
            namespace,
            all_namespaces,
            labels,
            kubeconfig,
            context,
        )
        return
    options = ListOptions(label_selector=labels)
    async with connect(kubeconfig, context) as client:
        resources = await with_progress(
            _find_all(client, kinds), f"reading the list of resources of {client.config.server}"
        )
        paths = [
            build_path(client, each, name, namespace, all_namespaces=all_namespaces)
            for each in resources
        ]
        if form.is_table:
            tables = [
                await _table(client, each, options, wide=wide or form.is_wide) for each in paths
            ]
            print(_join_tables(tables, is_category=len(paths) > len(kinds)))
        else:
            listed = [(path, await _objects(client, path, options)) for path in paths]
            print(form.render(listed, is_single=bool(name)))


COMMAND = Command(get)


async def _find_all(client: "Client", kinds: "list[str]") -> "list[ApiResource]":
    """The resources of kinds and categories; a category counts only where no kind has the name."""
    from quarterdeck.wire.status import NotFound

    found: list[ApiResource] = []
    for each in kinds:
        try:
            found.append(await find(client, each))
        except NotFound:
            category = await client.resources_in_category(each)
            if not category:
                raise
            found += category
    return found


def _join_tables(tables: "list[str]", *, is_category: bool) -> str:
    """Tables with an empty line between; of a category only those with rows."""
    shown = [each for each in tables if not (is_category and each.startswith("No "))]
    return "\n\n".join(shown) if shown else "No resources found."


async def find(client: "Client", kind: str) -> "ApiResource":
    """The resource of a plural, singular, kind or short name."""
    _, found = await client.resource_named(kind)
    return found


def build_path(
    client: "Client", found: "ApiResource", name: str, namespace: str, *, all_namespaces: bool
) -> "ResourcePath":
    """Where to read.

    Raises:
        CommandError: if a name and all namespaces are given.
    """
    from quarterdeck.wire.path import ResourcePath

    if all_namespaces and name:
        raise CommandError("NAME and --all-namespaces exclude each other: use --namespace", REFUSED)
    where = ""
    if found.namespaced and not all_namespaces:
        where = namespace or client.namespace
    return ResourcePath(*found.gvr, where, name)


async def _table(
    client: "Client", path: "ResourcePath", options: "ListOptions", *, wide: bool
) -> str:
    from quarterdeck.cli.output import columns, table_rows, with_namespaces
    from quarterdeck.client import requests
    from quarterdeck.kit import json
    from quarterdeck.wire.path import build

    query = "" if path.name else options.build()
    target = build(path) + (f"?{query}" if query else "")
    answer = await with_progress(
        get_transport(client).send(requests.get_path(target, accept=TABLE)), f"reading {target}"
    )
    table: dict[str, Any] = json.decode(answer)
    if table.get("kind") != "Table":
        raise CommandError(f"the server has no table of {path.resource}: use --output yaml", FAILED)
    rows = table_rows(table, wide=wide)
    if len(rows) == 1:
        where = f" in namespace {path.namespace}" if path.namespace else ""
        return f"No {path.resource} found{where}."
    if not path.namespace:
        namespaced = with_namespaces(table, rows)
        rows = namespaced if any(row[0] for row in namespaced[1:]) else rows
    return columns(rows)


async def _objects(
    client: "Client", path: "ResourcePath", options: "ListOptions"
) -> list[dict[str, Any]]:
    resource = client.resource(path.gvr)
    if path.name:
        return [await resource.get(path.name, path.namespace)]
    return await with_progress(resource.list(path.namespace, options), f"reading {path.resource}")
