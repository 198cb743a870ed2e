"""`quarterdeck get`: show objects."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, get_transport, with_progress
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import (
    AllNamespaces,
    Context,
    Form,
    Kubeconfig,
    LabelSelector,
    Namespace,
    OneName,
    Output,
    split_names,
    split_target,
)
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"


async def get(
    kind: Annotated[
        str, Argument(metavar="KIND", help="Kind, plural or short name; several: pods,deploy.")
    ],
    name: OneName = "",
    output: Output = Form.TABLE,
    wide: Annotated[bool, Option("--wide", help="Show all columns.")] = False,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    labels: LabelSelector = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show objects of one kind or of several."""
    from quarterdeck.wire.query import ListOptions

    kind, name = split_target(kind, name)
    kinds = split_names(kind) or [kind]
    if name and len(kinds) > 1:
        raise CommandError(f"cannot get {name!r} of several kinds ({kind}): give one", REFUSED)
    options = ListOptions(label_selector=labels)
    async with connect(kubeconfig, context) as client:
        paths = []
        for each in kinds:
            found = await with_progress(
                find(client, each), f"reading the list of resources of {client.config.server}"
            )
            paths.append(build_path(client, found, name, namespace, all_namespaces=all_namespaces))
        if output is Form.TABLE:
            print("\n\n".join([await _table(client, each, options, wide=wide) for each in paths]))
        else:
            listed = [(path, await _objects(client, path, options)) for path in paths]
            print(_format(listed, output))


COMMAND = Command(get)


def _format(listed: "list[tuple[ResourcePath, list[dict[str, Any]]]]", output: Form) -> str:
    from quarterdeck.cli.output import documents, reference

    if output is Form.NAME:
        return "\n".join(
            reference(item, path.resource, path.group) for path, items in listed for item in items
        )
    return documents([item for _, items in listed for item in items], output)


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
