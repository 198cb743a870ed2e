"""`quarterdeck events`: what happened lately."""

from typing import Annotated, Any

import typer

from quarterdeck.cli.command import CommandError, Debug, call
from quarterdeck.cli.connection import Context, Everywhere, Kubeconfig, Namespace, patiently, reach
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import Form, Output, columns, documents
from quarterdeck.meta.identity import GVR


def run(arguments: list[str]) -> int:
    """Print events."""
    return call("events", events, arguments)


def events(
    about: Annotated[
        str, typer.Option("--for", metavar="KIND/NAME", help="Only those about one object.")
    ] = "",
    warnings: Annotated[bool, typer.Option("--warnings", help="Only warnings.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Newest so many.")] = 50,
    output: Output = Form.TABLE,
    namespace: Namespace = "",
    everywhere: Everywhere = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> None:
    """Print events, oldest first."""
    kind, _, name = about.partition("/")
    if about and not (kind and name):
        raise CommandError(f"--for is {about!r}: it must be KIND/NAME, such as application/web", 2)

    async def main() -> list[dict[str, Any]]:
        async with reach(kubeconfig, context) as client:
            where = "" if everywhere else namespace or client.namespace
            resource = client.resource(GVR("", "v1", "events"))
            return await patiently(resource.list(where), "reading events")

    found = [
        each
        for each in sorted(run_loop(main(), fast=False), key=when)
        if (not about or is_about(each, kind, name))
        and (not warnings or each.get("type") == "Warning")
    ][-limit:]
    if output is not Form.TABLE:
        print(documents(found, output) if found else "")
    elif not found:
        print("No events found.")
    else:
        print(columns([["LAST", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"], *map(row, found)]))


def when(event: dict[str, Any]) -> str:
    """The time an event is sorted by."""
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp", "")
    )


def is_about(event: dict[str, Any], kind: str, name: str) -> bool:
    """Whether it speaks of an object."""
    regarding = event.get("involvedObject") or {}
    kinds = {str(regarding.get("kind", "")).lower(), f"{regarding.get('kind', '')}s".lower()}
    return kind.lower() in kinds and regarding.get("name") == name


def row(event: dict[str, Any]) -> list[str]:
    """One event as a row."""
    about = event.get("involvedObject") or {}
    where = f"{about['namespace']}/" if about.get("namespace") else ""
    return [
        when(event)[:19].replace("T", " "),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '')} {where}{about.get('name', '')}",
        str(event.get("count") or 1),
        " ".join(str(event.get("message", "")).split()),
    ]
