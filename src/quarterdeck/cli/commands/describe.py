"""`quarterdeck describe`: everything about an object, and its events."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import FAILED, CommandError
from quarterdeck.cli.flags import (
    Context,
    Kind,
    Kubeconfig,
    LabelSelector,
    Names,
    Namespace,
    split_targets,
)

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.wire.path import ResourcePath

_EVENT_COLUMNS = ["LAST", "TYPE", "REASON", "COUNT", "MESSAGE"]
_CONDITION_COLUMNS = ["TYPE", "STATUS", "REASON", "MESSAGE"]
_HEAD = ("apiVersion", "kind", "metadata", "status")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WIDTH = 14


async def describe(
    kind: Kind,
    names: Names = None,
    namespace: Namespace = "",
    labels: LabelSelector = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Show metadata, spec, status, conditions and events of the named objects or all of a kind."""
    from quarterdeck.cli.resource_paths import build_path, find_resource, print_missing, read_each

    async with connect(kubeconfig, context) as client:
        activity = f"reading the list of resources of {client.config.server}"
        paths = [
            build_path(
                client,
                await with_progress(find_resource(client, each), activity),
                name,
                namespace,
                all_namespaces=False,
            )
            for each, name in split_targets(kind, names or [])
        ]
        found, missing = await read_each(paths, lambda path: _read_objects(client, path, labels))
        objects = [each for _, read in found for each in read]
        where = {path.namespace for path, _ in found}
        events = [each for place in where for each in await _read_events(client, place)]
    if not objects and not missing:
        place = f" in namespace {paths[0].namespace}" if paths[0].namespace else ""
        raise CommandError(f"no {paths[0].resource} found{place}", FAILED)
    if objects:
        print("\n\n".join(format_description(each, events) for each in objects))
    return print_missing("quarterdeck describe", missing)


COMMAND = Command(describe, only_reads=True)


async def _read_objects(
    client: "Client", path: "ResourcePath", labels: str
) -> list[dict[str, Any]]:
    from quarterdeck.wire.query import ListOptions

    resource = client.resource(path.gvr)
    if path.name:
        return [
            await with_progress(resource.get(path.name, path.namespace), f"reading {path.name}")
        ]
    options = ListOptions(label_selector=labels)
    return await with_progress(resource.list(path.namespace, options), f"reading {path.resource}")


async def _read_events(client: "Client", namespace: str) -> list[dict[str, Any]]:
    from quarterdeck.meta.identity import GVR

    listed = client.resource(GVR("", "v1", "events")).list(namespace)
    return await with_progress(listed, "reading events")


def format_description(document: dict[str, Any], events: list[dict[str, Any]]) -> str:
    """An object for people; values of Secrets are shown by their size only."""
    from quarterdeck.kit.terminal import escape_controls

    status = dict(document.get("status") or {})
    conditions = status.pop("conditions", None) or []
    body = {key: value for key, value in document.items() if key not in _HEAD}
    if document.get("kind") == "Secret":
        body = _hide_values(body)
    lines = _format_metadata(document)
    for key, value in [*body.items(), *([("status", status)] if status else [])]:
        lines += _format_section(key, value)
    lines = [escape_controls(line) for text in lines for line in text.splitlines()]
    rows = [[str(each.get(name.lower(), "")) for name in _CONDITION_COLUMNS] for each in conditions]
    lines += _format_table("Conditions", _CONDITION_COLUMNS, rows) if rows else []
    return "\n".join([*lines, *_format_events(document, events)])


def _format_metadata(document: dict[str, Any]) -> list[str]:
    metadata = document["metadata"]
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key != _LAST_APPLIED
    }
    owners = [f"{each['kind']}/{each['name']}" for each in metadata.get("ownerReferences") or ()]
    fields = [
        ("Name", metadata["name"]),
        ("Namespace", metadata.get("namespace", "")),
        ("API Version", document.get("apiVersion", "")),
        ("Kind", document.get("kind", "")),
        ("Labels", _format_map(metadata.get("labels") or {})),
        ("Annotations", _format_map(annotations)),
        ("Created", metadata.get("creationTimestamp", "")),
        ("Deleted", metadata.get("deletionTimestamp", "")),
        ("Finalizers", ", ".join(metadata.get("finalizers") or ())),
        ("Owned by", ", ".join(owners)),
    ]
    return [f"{name + ':':<{_WIDTH}}{value}" for name, value in fields if value]


def _format_map(values: dict[str, str]) -> str:
    return ("\n" + " " * _WIDTH).join(f"{key}={value}" for key, value in sorted(values.items()))


def _format_section(key: str, value: object) -> list[str]:
    from quarterdeck.kit import yaml

    title = key[:1].upper() + key[1:]
    if not isinstance(value, dict | list):
        return [f"{title + ':':<{_WIDTH}}{value}"]
    text = yaml.dump_all([value]).removeprefix("---\n").rstrip()
    return [f"{title}:", *(f"  {line}" for line in text.splitlines())]


def _hide_values(body: dict[str, Any]) -> dict[str, Any]:
    import base64

    sizes = {
        key: f"{len(base64.b64decode(value))} bytes"
        for key, value in (body.get("data") or {}).items()
    }
    return {**{k: v for k, v in body.items() if k != "stringData"}, "data": sizes}


def _format_events(document: dict[str, Any], events: list[dict[str, Any]]) -> list[str]:
    from quarterdeck.cli.commands.events import build_row, get_order

    uid = document["metadata"].get("uid")
    own = [each for each in events if (each.get("involvedObject") or {}).get("uid") == uid]
    if not own:
        return ["Events:       none"]
    rows = [build_row(each) for each in sorted(own, key=get_order)]
    return _format_table("Events", _EVENT_COLUMNS, [[*row[:3], *row[4:]] for row in rows])


def _format_table(title: str, head: list[str], rows: list[list[str]]) -> list[str]:
    from quarterdeck.cli.output import format_columns

    return [f"{title}:", *(f"  {line}" for line in format_columns([head, *rows]).splitlines())]
