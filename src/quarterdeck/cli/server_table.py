"""Reads tables that the server formats, once or row by row while objects change."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.connection import get_transport, with_progress
from quarterdeck.cli.exit_codes import FAILED, CommandError
from quarterdeck.cli.output import GAP, list_table_rows, with_namespaces
from quarterdeck.kit.terminal import escape_controls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from quarterdeck.client.client import Client
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions

ACCEPT_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
Table = dict[str, Any]


async def read_table(client: "Client", path: "ResourcePath", options: "ListOptions") -> Table:
    """The table of one object or of a list.

    Raises:
        CommandError: if the server has no tables.
    """
    from quarterdeck.client import requests
    from quarterdeck.kit import json
    from quarterdeck.wire.path import build

    query = "" if path.name else options.build()
    target = build(path) + (f"?{query}" if query else "")
    answer = await with_progress(
        get_transport(client).send(requests.get_path(target, accept=ACCEPT_TABLE)),
        f"reading {target}",
    )
    table: Table = json.decode(answer)
    if table.get("kind") != "Table":
        raise CommandError(f"the server has no table of {path.resource}: use --output yaml", FAILED)
    return table


def join_tables(
    tables: "list[tuple[ResourcePath, Table]]",
) -> "list[tuple[ResourcePath, Table]]":
    """Make one table of neighbors of the same resource."""
    joined: list[tuple[ResourcePath, Table]] = []
    for path, table in tables:
        if joined and joined[-1][0]._replace(name="") == path._replace(name=""):
            before = joined[-1][1]
            rows = [*before.get("rows", ()), *table.get("rows", ())]
            joined[-1] = (path, {**before, "rows": rows})
        else:
            joined.append((path, table))
    return joined


def build_rows(table: Table, path: "ResourcePath", *, wide: bool) -> list[list[str]]:
    """The rows of a table, head first; with namespaces if objects of several are shown."""
    rows = list_table_rows(table, wide=wide)
    if path.namespace:
        return rows
    namespaced = with_namespaces(table, rows)
    return namespaced if any(row[0] for row in namespaced[1:]) else rows


async def follow_table(
    client: "Client", path: "ResourcePath", options: "ListOptions", *, wide: bool
) -> "AsyncGenerator[str, None]":
    """The lines of a table, then the row of every object that changes, as kubectl shows them.

    The table is read again if the server no longer has the version to resume from.
    """
    from quarterdeck.wire.status import Expired, Gone

    printer = RowPrinter()
    while True:
        table = await read_table(client, path, options)
        definitions = table["columnDefinitions"]
        for line in printer.format_rows(build_rows(table, path, wide=wide)):
            yield line
        version = str(table["metadata"]["resourceVersion"])
        try:
            async for change in _iterate_changes(client, path, options, version):
                full = {**change, "columnDefinitions": definitions}
                for line in printer.format_rows(build_rows(full, path, wide=wide)):
                    yield line
        except (Expired, Gone):
            continue


class RowPrinter:
    """Formats rows; a column is as wide as its widest cell so far. The head comes once."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def format_rows(self, rows: list[list[str]]) -> "Iterator[str]":
        """Format rows whose first is the head; a head without rows is left out."""
        if len(rows) == 1:
            return
        shown = rows[1:] if self._widths else rows
        cells = [[escape_controls(cell) for cell in row] for row in shown]
        widths = self._widths or [0] * len(cells[0])
        self._widths = [
            max(width, *(len(row[index]) for row in cells)) for index, width in enumerate(widths)
        ]
        for row in cells:
            padded = (cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
            yield (" " * GAP).join(padded).rstrip()


async def _iterate_changes(
    client: "Client", path: "ResourcePath", options: "ListOptions", version: str
) -> "AsyncIterator[Table]":
    """Tables of one row each, across the watches that the server ends.

    Raises:
        ApiError: what the server answered, or sent as an ERROR event.
    """
    import msgspec

    from quarterdeck.client import requests
    from quarterdeck.client.interfaces import Form
    from quarterdeck.kit import json
    from quarterdeck.wire.status import from_status

    fields = f"metadata.name={path.name}" if path.name else ""
    options = msgspec.structs.replace(
        options, watch=True, allow_watch_bookmarks=True, field_selector=fields
    )
    while True:
        options = msgspec.structs.replace(options, resource_version=version)
        request = requests.watch(path._replace(name=""), options, Form.FULL)
        request = msgspec.structs.replace(request, headers=(("Accept", ACCEPT_TABLE),))
        async with get_transport(client).stream(request) as lines:
            async for line in lines:
                event = json.decode(line)
                if event["type"] == "ERROR":
                    raise from_status(event["object"])
                version = str(event["object"]["metadata"]["resourceVersion"])
                if event["type"] != "BOOKMARK":
                    yield event["object"]
