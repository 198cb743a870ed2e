"""`quarterdeck delete`: remove objects."""

from typing import Annotated

import typer

from quarterdeck.cli import manifest_files
from quarterdeck.cli.command import CommandError, Debug, call, split_target
from quarterdeck.cli.commands.get import find
from quarterdeck.cli.connection import Context, Kubeconfig, Namespace, patiently, reach
from quarterdeck.cli.loop import FAILED, OK, run_loop
from quarterdeck.cli.output import reference
from quarterdeck.client.client import Client
from quarterdeck.client.interfaces import ApiResource
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import DeleteOptions
from quarterdeck.wire.status import NotFound

Target = tuple[ApiResource, str, str]
"""A resource, a namespace, a name."""


def run(arguments: list[str]) -> int:
    """Delete objects."""
    return call("delete", delete, arguments)


def delete(
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="applications, pods, …")] = "",
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="Names of objects.")
    ] = None,
    filename: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="PATH", help="File, folder, or - for stdin."),
    ] = None,
    ignore_not_found: Annotated[
        bool, typer.Option("--ignore-not-found", help="What is gone already is fine.")
    ] = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> int:
    """Delete what is named, or everything in manifests, in reverse order."""
    if "/" in kind:
        kind, one = split_target(kind, names[0] if names else "")
        names = [one]
    if bool(filename) == bool(kind and names):
        raise CommandError("name a kind and objects of it, or manifests with --filename", 2)

    async def main() -> int:
        code = OK
        async with reach(kubeconfig, context) as client:
            if filename:
                targets = await _in_files(
                    client, filename, namespace, ignore_not_found=ignore_not_found
                )
            else:
                found = await patiently(find(client, kind), "asking what it serves")
                where = (namespace or client.namespace) if found.namespaced else ""
                targets = [(found, where, name) for name in names or ()]
            for target in targets:
                if not await _delete(client, target, ignore_not_found=ignore_not_found):
                    code = FAILED
        return code

    return int(run_loop(main(), fast=False))


async def _in_files(
    client: Client, files: list[str], namespace: str, *, ignore_not_found: bool
) -> list[Target]:
    targets: list[Target] = []
    for document in reversed(manifest_files.read(files)):
        metadata = document["metadata"]
        try:
            found = await client.raw.resource(GVK.of(document["apiVersion"], document["kind"]))
        except NotFound:
            if ignore_not_found:
                continue  # the kind is gone, and its objects with it
            raise
        where = namespace or metadata.get("namespace") or client.namespace
        targets.append((found, where if found.namespaced else "", metadata["name"]))
    return targets


async def _delete(client: Client, target: Target, *, ignore_not_found: bool) -> bool:
    found, namespace, name = target
    label = reference({"metadata": {"name": name}}, found.gvk.kind.lower(), found.gvr.group)
    path = ResourcePath(*found.gvr, namespace, name)
    try:
        await patiently(
            client.raw.delete(path, DeleteOptions(propagation_policy="Background")), "deleting"
        )
    except NotFound:
        if not ignore_not_found:
            print(f"{label} not found")
        return ignore_not_found
    print(f"{label} deleted")
    return True
