"""`quarterdeck events`: show events."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import AllNamespaces, Context, Form, Kubeconfig, Namespace, Output
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client

_HEAD = ["LAST", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"]


async def events(
    about: Annotated[
        str, Option("--for", metavar="KIND/NAME", help="Show only events of one object.")
    ] = "",
    warnings: Annotated[bool, Option("--warnings", help="Show only warnings.")] = False,
    limit: Annotated[
        int, Option("--limit", minimum=1, metavar="N", help="Show at most N events: the newest.")
    ] = 50,
    output: Output = Form.TABLE,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show events, oldest first."""
    from quarterdeck.cli.output import format_columns, format_documents, format_list
    from quarterdeck.meta.identity import GVR

    kind, _, name = about.partition("/")
    if about and not (kind and name):
        raise CommandError(
            f"invalid --for {about!r}: give KIND/NAME, such as application/web", REFUSED
        )
    async with connect(kubeconfig, context) as client:
        where = "" if all_namespaces else namespace or client.namespace
        resource = client.resource(GVR("", "v1", "events"))
        listed = await with_progress(resource.list(where), "reading events")
        kinds = await _find_kinds(client, kind) if about and listed else frozenset[str]()
    found = [
        each
        for each in sorted(listed, key=get_order)
        if (not about or is_about(each, kinds, name))
        and (not warnings or each.get("type") == "Warning")
    ][-limit:]
    if output is Form.JSON:
        print(format_list(found))
    elif output is Form.NAME:
        print("\n".join(f"event/{each['metadata']['name']}" for each in found))
    elif output is Form.YAML:
        print(format_documents(found, output) if found else "")
    elif not found:
        print("No events found.")
    else:
        print(format_columns([_HEAD, *map(build_row, found)]))


COMMAND = Command(events, only_reads=True)


async def _find_kinds(client: "Client", word: str) -> frozenset[str]:
    """The kinds, in small letters, that a kind, plural or short name may mean.

    The server may not know the kind any more, while events about its objects are still there.
    """
    from quarterdeck.cli.resource_paths import find_resource
    from quarterdeck.wire.status import NotFound

    kinds = {word.lower(), word.lower().removesuffix("s")}
    try:
        found = await with_progress(find_resource(client, word), "reading the list of resources")
    except NotFound:
        return frozenset(kinds)
    return frozenset({found.gvk.kind.lower()})


def get_order(event: dict[str, Any]) -> tuple[str, int]:
    """The time of an event; of those in the same second the one written last comes last."""
    version = event["metadata"].get("resourceVersion", "")
    return get_time(event)[:19], int(version) if version.isdecimal() else 0


def get_time(event: dict[str, Any]) -> str:
    """The time by which an event is sorted."""
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp", "")
    )


def is_about(event: dict[str, Any], kinds: frozenset[str], name: str) -> bool:
    """Whether the involved object has one of these kinds, in small letters, and this name."""
    regarding = event.get("involvedObject") or {}
    return str(regarding.get("kind", "")).lower() in kinds and regarding.get("name") == name


def build_row(event: dict[str, Any]) -> list[str]:
    """One event as a table row."""
    about = event.get("involvedObject") or {}
    where = f"{about['namespace']}/" if about.get("namespace") else ""
    return [
        get_time(event)[:19].replace("T", " "),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '')} {where}{about.get('name', '')}",
        str(event.get("count") or 1),
        " ".join(str(event.get("message", "")).split()),
    ]
