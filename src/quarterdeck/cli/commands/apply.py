"""`quarterdeck apply`: bring objects to what manifests say, by server-side apply."""

from typing import Annotated, Any

import typer

from quarterdeck.cli import manifest_files
from quarterdeck.cli.command import Debug, call
from quarterdeck.cli.connection import (
    Context,
    Kubeconfig,
    Namespace,
    patiently,
    reach,
    transport_of,
)
from quarterdeck.cli.loop import OK, run_loop
from quarterdeck.cli.manifest_files import Files
from quarterdeck.cli.output import reference
from quarterdeck.client import requests
from quarterdeck.client.client import Client
from quarterdeck.client.interfaces import ApiResource, PatchType
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import NotFound

FIELD_MANAGER = "quarterdeck-cli"
_WAIT_S = 0.25
_TRIES = 40


def run(arguments: list[str]) -> int:
    """Apply manifests."""
    return call("apply", apply, arguments)


def apply(
    filename: Files,
    force: Annotated[
        bool, typer.Option("--force", help="Take fields over from other managers.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, and write nothing.")] = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    debug: Debug = False,
) -> int:
    """Apply manifests, namespaces and definitions first."""
    documents = manifest_files.read(filename)
    options = PatchOptions(
        field_manager=FIELD_MANAGER, force=force or None, dry_run=("All",) if dry_run else ()
    )

    async def main() -> None:
        async with reach(kubeconfig, context) as client:
            for document in documents:
                found = await patiently(resource_of(client, document), "waiting for the kind")
                verb = await patiently(
                    _apply(client, found, document, options, namespace=namespace), "applying"
                )
                suffix = " (dry run)" if dry_run else ""
                singular = document["kind"].lower()
                print(f"{reference(document, singular, found.gvr.group)} {verb}{suffix}")

    run_loop(main(), fast=False)
    return OK


async def resource_of(client: Client, document: dict[str, Any]) -> ApiResource:
    """The resource of a manifest's kind; its definition may be seconds old, so it is waited for."""
    clock, gvk = SystemClock(), GVK.of(document["apiVersion"], document["kind"])
    for _ in range(_TRIES - 1):
        try:
            return await client.raw.resource(gvk)
        except NotFound:
            await clock.sleep(_WAIT_S)
    return await client.raw.resource(gvk)


async def _apply(
    client: Client,
    found: ApiResource,
    document: dict[str, Any],
    options: PatchOptions,
    *,
    namespace: str,
) -> str:
    metadata = document["metadata"]
    where = ""
    if found.namespaced:
        where = namespace or metadata.get("namespace") or client.namespace
        document = {**document, "metadata": {**metadata, "namespace": where}}
    path = ResourcePath(*found.gvr, where, metadata["name"])
    request = requests.patch(path, json.encode(document), PatchType.APPLY, options)
    async with await transport_of(client).open(request) as response:
        await response.read()
        return "created" if response.status == 201 else "applied"
