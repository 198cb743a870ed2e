"""Objects as text: the table of the server, YAML, JSON, or names."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.cli.flags import Form, ReportForm
from quarterdeck.kit import json
from quarterdeck.kit.terminal import escape_controls, escape_json

GAP = 3


def print_line(line: str) -> None:
    """Print a line at once, for commands that keep running."""
    print(escape_controls(line), flush=True)


def print_document(text: str) -> None:
    """Print text for programs as it is; on a terminal control characters are made visible."""
    print(escape_controls(text) if sys.stdout.isatty() else text, flush=True)


def format_columns(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns; the first row is the head. Control characters are made visible."""
    rows = [[escape_controls(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    gap = " " * GAP
    return "\n".join(
        gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def list_table_rows(table: Mapping[str, Any], *, wide: bool = False) -> list[list[str]]:
    """The rows of a server's Table, head first; columns of low priority only if `wide`."""
    definitions = table.get("columnDefinitions") or []
    shown = [i for i, each in enumerate(definitions) if wide or not each.get("priority")]
    head = [str(definitions[i]["name"]).upper() for i in shown]
    rows = [[_format_cell(row["cells"][i]) for i in shown] for row in table.get("rows") or []]
    return [head, *rows]


def _format_cell(value: object) -> str:
    match value:
        case None:
            return "<none>"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def with_namespaces(table: Mapping[str, Any], rows: list[list[str]]) -> list[list[str]]:
    """The same rows with the namespace of each in front."""
    names = [
        (row.get("object") or {}).get("metadata", {}).get("namespace", "")
        for row in table.get("rows") or []
    ]
    return [["NAMESPACE", *rows[0]], *([n, *row] for n, row in zip(names, rows[1:], strict=True))]


def clean(document: dict[str, Any]) -> dict[str, Any]:
    """An object without `metadata.managedFields`."""
    metadata = {k: v for k, v in document.get("metadata", {}).items() if k != "managedFields"}
    return {**document, "metadata": metadata}


def format_report(document: object, form: ReportForm) -> str:
    """A result as JSON or YAML."""
    if form is ReportForm.JSON:
        return format_pretty(document)
    from quarterdeck.kit import yaml

    return yaml.dump(document).rstrip()


def format_list(items: Sequence[dict[str, Any]]) -> str:
    """Objects as a List in JSON, however many there are."""
    cleaned = [clean(item) for item in items]
    return format_pretty({"apiVersion": "v1", "kind": "List", "items": cleaned})


def format_documents(items: Sequence[dict[str, Any]], form: Form) -> str:
    """Objects as YAML or JSON; several become a List in JSON, and documents in YAML."""
    cleaned = [clean(item) for item in items]
    if form is Form.JSON:
        return format_pretty(cleaned[0]) if len(cleaned) == 1 else format_list(items)
    from quarterdeck.kit import yaml

    return yaml.dump_all(cleaned).rstrip()


def print_result(result: object, text: str, *, as_json: bool) -> None:
    """Print what a command did: as JSON for programs, else as text for people."""
    print_line(format_pretty(result)) if as_json else print(text)


def print_change(label: str, result: str, *, as_json: bool) -> None:
    """Print what happened to an object, on one line."""
    if as_json:
        print_line(json.encode({"object": label, "result": result}).decode())
    else:
        print_line(f"{label} {result}")


def format_pretty(document: object) -> str:
    """Indented JSON."""
    import msgspec

    return escape_json(msgspec.json.format(json.encode(document), indent=2).decode())


def format_reference(document: Mapping[str, Any], resource: str, group: str) -> str:
    """`application.cloudnative.elide.dev/web`, as kubectl names objects."""
    qualified = f"{resource}.{group}" if group else resource
    return f"{qualified}/{document['metadata']['name']}"
