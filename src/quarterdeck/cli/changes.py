"""Follows and formats changes of objects."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.flags import Form

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from quarterdeck.client.client import Client
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import ListOptions


async def iterate_changes(
    client: "Client", path: "ResourcePath", options: "ListOptions"
) -> "AsyncGenerator[tuple[str, dict[str, Any]], None]":
    """Iterate over all changes; watches that the server ends are opened again.

    The first watch starts at any version that the server has: for the newest state, a server whose
    cache lags behind etcd would answer with a 504. So does a watch whose version the server no
    longer has: the objects then come again.
    """
    import msgspec

    from quarterdeck.wire.frame import EventType
    from quarterdeck.wire.status import Expired, Gone

    fields = f"metadata.name={path.name}" if path.name else ""
    options = msgspec.structs.replace(
        options,
        watch=True,
        allow_watch_bookmarks=True,
        field_selector=fields,
        resource_version="0",
    )
    while True:
        try:
            async with client.resource(path.gvr).watch(path.namespace, options) as events:
                async for type_, document in events:
                    version = document["metadata"]["resourceVersion"]
                    options = msgspec.structs.replace(options, resource_version=version)
                    if type_ is not EventType.BOOKMARK:
                        yield type_.value, document
        except (Expired, Gone):
            options = msgspec.structs.replace(options, resource_version="0")


def format_change(type_: str, document: dict[str, Any], form: Form) -> str:
    """One change as text."""
    from quarterdeck.cli.output import clean, format_documents
    from quarterdeck.kit import json

    if form is Form.JSON:
        return json.encode({"type": type_, "object": clean(document)}).decode()
    if form is Form.YAML:
        return f"# {type_}\n---\n{format_documents([document], form)}"
    metadata = document["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    line = f"{type_:<9} {document.get('kind', '')} {where}{metadata['name']}"
    return line if form is Form.NAME else f"{line}  {summarize(document)}".rstrip()


def summarize(document: dict[str, Any]) -> str:
    """Phase, replicas and why the object is not ready, as far as its status has them."""
    status = document.get("status")
    if not isinstance(status, dict):
        return ""
    parts = [str(status["phase"])] if status.get("phase") else []
    desired = (document.get("spec") or {}).get("replicas")
    if desired is not None:
        parts.append(f"{status.get('readyReplicas', 0)}/{desired} ready")
    parts += [
        f"({': '.join(filter(None, map(condition.get, ('reason', 'message'))))})"
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready" and condition.get("status") != "True"
    ]
    return " ".join(parts)
