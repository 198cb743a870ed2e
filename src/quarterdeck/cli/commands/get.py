"""`quarterdeck get`: show objects."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import (
    AllNamespaces,
    Context,
    Form,
    Kubeconfig,
    LabelSelector,
    Namespace,
    OneName,
    split_names,
    split_target,
)
from quarterdeck.cli.output_format import OutputFormat
from quarterdeck.cli.parameters import Argument, Option
from quarterdeck.cli.resource_paths import build_path, find_resource

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from quarterdeck.cli.server_table import Table
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions


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
        int,
        Option("--count", metavar="N", help="With --watch: stop after N lines; 0 for no limit."),
    ] = 0,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    labels: LabelSelector = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show objects of one kind, of several, or of a category such as `all`."""
    from quarterdeck.cli.output import print_document
    from quarterdeck.cli.server_table import read_table
    from quarterdeck.wire.query import ListOptions

    form = OutputFormat.parse("wide" if wide and output == "table" else output)
    kind, name = split_target(kind, name)
    kinds = _split_kinds(kind, name, follow=follow)
    options = ListOptions(label_selector=labels)
    async with connect(kubeconfig, context) as client:
        resources = await with_progress(
            _find_all(client, kinds), f"reading the list of resources of {client.config.server}"
        )
        paths = [
            build_path(client, each, name, namespace, all_namespaces=all_namespaces)
            for each in resources
        ]
        if follow:
            await _print_changes(_follow(client, paths[0], options, form), count)
        elif form.is_table:
            tables = [
                _format_table(await read_table(client, each, options), each, wide=form.is_wide)
                for each in paths
            ]
            print(_join_tables(tables, is_category=len(paths) > len(kinds)))
        else:
            listed = [(path, await _list_objects(client, path, options)) for path in paths]
            print_document(form.render(listed, is_single=bool(name)).removesuffix("\n"))


COMMAND = Command(get, only_reads=True)


def _split_kinds(kind: str, name: str, *, follow: bool) -> "list[str]":
    """The kinds that are asked for.

    Raises:
        CommandError: if there are several where one is needed.
    """
    kinds = split_names(kind) or [kind]
    if (name or follow) and len(kinds) > 1:
        what = repr(name) if name else "--watch"
        raise CommandError(f"cannot get {what} of several kinds ({kind}): give one", REFUSED)
    return kinds


async def _find_all(client: "Client", kinds: "list[str]") -> "list[ApiResource]":
    """The resources of kinds and categories; a category counts only where no kind has the name."""
    from quarterdeck.wire.status import NotFound

    found: list[ApiResource] = []
    for each in kinds:
        try:
            found.append(await find_resource(client, each))
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


async def _print_changes(lines: "AsyncGenerator[str, None]", count: int) -> None:
    """Print lines until Ctrl-C, or `count` of them."""
    from contextlib import aclosing

    from quarterdeck.cli.loop import require_loop
    from quarterdeck.cli.output import print_document

    require_loop()
    seen = 0
    async with aclosing(lines):
        async for line in lines:
            print_document(line)
            seen += 1
            if seen == count:
                return


def _format_table(table: "Table", path: "ResourcePath", *, wide: bool) -> str:
    from quarterdeck.cli.output import format_columns
    from quarterdeck.cli.server_table import build_rows

    rows = build_rows(table, path, wide=wide)
    if len(rows) == 1:
        where = f" in namespace {path.namespace}" if path.namespace else ""
        return f"No {path.resource} found{where}."
    return format_columns(rows)


async def _follow(
    client: "Client", path: "ResourcePath", options: "ListOptions", form: OutputFormat
) -> "AsyncGenerator[str, None]":
    """What --watch prints: rows of a table, or objects in another format, as they change."""
    from quarterdeck.cli.changes import format_change, iterate_changes
    from quarterdeck.cli.server_table import follow_table

    if form.is_table:
        async for line in follow_table(client, path, options, wide=form.is_wide):
            yield line
        return
    async for type_, document in iterate_changes(client, path, options):
        if form.name == "yaml":
            yield f"---\n{form.render([(path, [document])], is_single=True)}"
        elif form.name == "json":
            yield format_change(type_, document, Form.JSON)
        else:
            yield form.render([(path, [document])], is_single=True)


async def _list_objects(
    client: "Client", path: "ResourcePath", options: "ListOptions"
) -> list[dict[str, Any]]:
    resource = client.resource(path.gvr)
    if path.name:
        return [await resource.get(path.name, path.namespace)]
    return await with_progress(resource.list(path.namespace, options), f"reading {path.resource}")
