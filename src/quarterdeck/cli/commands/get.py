"""`quarterdeck get`: show objects."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import OK, REFUSED, CommandError
from quarterdeck.cli.flags import (
    AllNamespaces,
    Context,
    Form,
    Kubeconfig,
    LabelSelector,
    Names,
    Namespace,
    split_names,
    split_targets,
)
from quarterdeck.cli.output_format import OutputFormat
from quarterdeck.cli.parameters import Argument, Option
from quarterdeck.cli.resource_paths import build_path, find_resource, print_missing, read_each

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from quarterdeck.cli.server_table import Table
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions
    from quarterdeck.wire.status import NotFound


async def get(
    kind: Annotated[
        str,
        Argument(
            metavar="KIND", help="Kind, plural, short name or category; several: pods,deploy."
        ),
    ],
    names: Names = None,
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
) -> int:
    """Show objects of one kind, of several, or of a category such as `all`."""
    from quarterdeck.wire.query import ListOptions

    form = OutputFormat.parse("wide" if wide and output == "table" else output)
    targets = split_targets(kind, names or [])
    kinds = _split_kinds(targets, follow=follow)
    options = ListOptions(label_selector=labels)
    async with connect(kubeconfig, context) as client:
        resources = await with_progress(
            _find_all(client, kinds), f"reading the list of resources of {client.config.server}"
        )
        paths = [
            build_path(client, found, name, namespace, all_namespaces=all_namespaces)
            for kind, name in targets
            for found in resources[kind]
        ]
        if follow:
            await _print_changes(_follow(client, paths[0], options, form), count)
            return OK
        is_category = len(paths) > sum(len(kinds[kind]) for kind, _ in targets)
        missing = await _print_objects(client, paths, options, form, is_category=is_category)
    return print_missing("quarterdeck get", missing)


COMMAND = Command(get, only_reads=True)


def _split_kinds(targets: "list[tuple[str, str]]", *, follow: bool) -> dict[str, list[str]]:
    """The kinds that each first part of a target names.

    Raises:
        CommandError: if there are several kinds or objects where one is needed.
    """
    if follow and len(targets) > 1:
        raise CommandError("cannot --watch several names: give one, or a --selector", REFUSED)
    kinds = {kind: split_names(kind) or [kind] for kind, _ in targets}
    for kind, name in targets:
        if (name or follow) and len(kinds[kind]) > 1:
            what = repr(name) if name else "--watch"
            raise CommandError(f"cannot get {what} of several kinds ({kind}): give one", REFUSED)
    return kinds


async def _find_all(
    client: "Client", kinds: dict[str, list[str]]
) -> "dict[str, list[ApiResource]]":
    return {kind: await _find_resources(client, names) for kind, names in kinds.items()}


async def _find_resources(client: "Client", kinds: "list[str]") -> "list[ApiResource]":
    """The resources of kinds and categories; a category counts only where no kind has the name."""
    from quarterdeck.wire.status import NotFound

    found: list[ApiResource] = []
    for each in kinds:
        try:
            found.append(await find_resource(client, each))
        except NotFound:
            category = await client.list_resources_in_category(each)
            if not category:
                raise
            found += category
    return found


async def _print_objects(
    client: "Client",
    paths: "list[ResourcePath]",
    options: "ListOptions",
    form: OutputFormat,
    *,
    is_category: bool,
) -> "list[NotFound]":
    """Print what is found, in the order of the paths; returns the errors of names that are not."""
    from quarterdeck.cli.output import print_document
    from quarterdeck.cli.server_table import join_tables, read_table

    if form.is_table:
        tables, missing = await read_each(paths, lambda path: read_table(client, path, options))
        texts = [
            _format_table(table, path, wide=form.is_wide) for path, table in join_tables(tables)
        ]
        if tables:
            print(_join_texts(texts, is_category=is_category))
        return missing
    listed, missing = await read_each(paths, lambda path: _list_objects(client, path, options))
    if listed:
        is_single = len(paths) == 1 and bool(paths[0].name)
        if text := form.render(listed, is_single=is_single):  # a loop reads no line of nothing
            print_document(text.removesuffix("\n"))
    return missing


def _join_texts(tables: "list[str]", *, is_category: bool) -> str:
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
