"""`quarterdeck watch`: follow objects as they change."""

from typing import Annotated, Any

import typer

from quarterdeck.cli.command import Debug, call, split_target
from quarterdeck.cli.commands.get import find, path_of
from quarterdeck.cli.connection import (
    Context,
    Everywhere,
    Kubeconfig,
    Labels,
    Namespace,
    patiently,
    reach,
)
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import Form, Output, clean, documents
from quarterdeck.kit import json
from quarterdeck.meta.conditions import TRUE
from quarterdeck.wire.frame import EventType
from quarterdeck.wire.query import ListOptions


def run(arguments: list[str]) -> int:
    """Print changes."""
    return call("watch", watch, arguments)


def watch(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pods, deploy, applications, …")],
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One object.")] = "",
    output: Output = Form.TABLE,
    count: Annotated[
        int, typer.Option("--count", metavar="N", help="Stop after so many changes.")
    ] = 0,
    namespace: Namespace = "",
    everywhere: Everywhere = False,
    labels: Labels = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> None:
    """Print the objects of a kind, then every change, until Ctrl-C."""
    kind, name = split_target(kind, name)

    async def main() -> None:
        seen = 0
        async with reach(kubeconfig, context) as client:
            found = await patiently(find(client, kind), f"asking {client.config.server}")
            path = path_of(client, found, name, namespace, everywhere=everywhere)
            fields = f"metadata.name={name}" if name else ""
            options = ListOptions(watch=True, label_selector=labels, field_selector=fields)
            while True:
                resource = client.resource(found.gvr)
                async with resource.watch(path.namespace, options) as events:
                    async for type_, document in events:
                        if type_ is EventType.BOOKMARK:
                            continue
                        print(line(type_.value, document, output), flush=True)
                        version = document["metadata"]["resourceVersion"]
                        options = ListOptions(
                            watch=True,
                            label_selector=labels,
                            field_selector=fields,
                            resource_version=version,
                        )
                        seen += 1
                        if seen == count:
                            return

    run_loop(main(), fast=False)


def line(type_: str, document: dict[str, Any], form: Form) -> str:
    """One change."""
    if form is Form.JSON:
        return json.encode({"type": type_, "object": clean(document)}).decode()
    if form is Form.YAML:
        return f"# {type_}\n---\n{documents([document], form)}"
    metadata = document["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    told = f"{type_:<9} {document.get('kind', '')} {where}{metadata['name']}"
    return told if form is Form.NAME else f"{told}  {summary(document)}".rstrip()


def summary(document: dict[str, Any]) -> str:
    """Phase, replicas and why it is not ready, of whatever has them."""
    status = document.get("status")
    if not isinstance(status, dict):
        return ""
    parts = [str(status["phase"])] if status.get("phase") else []
    wanted = (document.get("spec") or {}).get("replicas")
    if wanted is not None:
        parts.append(f"{status.get('readyReplicas', 0)}/{wanted} ready")
    parts += [
        f"({condition.get('reason', '')}: {condition.get('message', '')})"
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready" and condition.get("status") != TRUE
    ]
    return " ".join(parts)
