"""`quarterdeck apply`: create or update objects from manifests, by server-side apply."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, get_transport, with_progress
from quarterdeck.cli.exit_codes import OK, print_error, translate
from quarterdeck.cli.flags import Context, Files, Json, Kubeconfig, Kustomization, Namespace
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.query import PatchOptions

FIELD_MANAGER = "quarterdeck-cli"
_RETRY_S = 0.25
_TRIES = 40


async def apply(
    filename: Files = None,
    kustomize: Kustomization = "",
    force: Annotated[
        bool, Option("--force", help="Take over fields that other field managers own.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Validate and write nothing.")] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Apply manifests, namespaces and CustomResourceDefinitions first.

    An object that is refused does not keep the others from being applied.
    """
    import asyncio

    from quarterdeck.cli import manifest_files
    from quarterdeck.cli.output import format_reference, print_change
    from quarterdeck.cli.resource_paths import check_namespace
    from quarterdeck.wire.query import PatchOptions
    from quarterdeck.wire.status import ApiError, NotFound, Unauthorized

    documents = await with_progress(
        asyncio.to_thread(manifest_files.read_given, filename, kustomize), "reading manifests"
    )
    options = PatchOptions(
        field_manager=FIELD_MANAGER, force=force or None, dry_run=("All",) if dry_run else ()
    )
    code, not_found = OK, set[str]()
    async with connect(kubeconfig, context) as client:
        await check_namespace(client, documents, namespace)
        for document in documents:
            kind = document["kind"]
            gvk = f"{document['apiVersion']} {kind}"
            tries = 1 if gvk in not_found else _TRIES  # kinds are waited for once
            try:
                found = await with_progress(
                    find_resource(client, document, tries=tries),
                    f"waiting for the API server to serve {kind}",
                )
                result = await with_progress(
                    _apply(client, found, document, options, namespace=namespace),
                    f"applying {kind} {document['metadata']['name']}",
                )
            except Unauthorized:
                raise  # the others would be refused as well
            except ApiError as error:
                if isinstance(error, NotFound):
                    not_found.add(gvk)
                code, message = translate(error)
                print_error("quarterdeck apply", message)
                continue
            label = format_reference(document, kind.lower(), found.gvr.group)
            print_change(label, f"{result} (dry run)" if dry_run else result, as_json=json)
    return code


COMMAND = Command(apply)


async def find_resource(
    client: "Client", document: dict[str, Any], *, tries: int = _TRIES
) -> "ApiResource":
    """The resource of a manifest's kind; retried, because its CRD may be seconds old."""
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.meta.identity import GVK
    from quarterdeck.wire.status import NotFound

    clock, gvk = SystemClock(), GVK.of(document["apiVersion"], document["kind"])
    for _ in range(tries - 1):
        try:
            return await client.raw.discover_resource(gvk)
        except NotFound:
            await clock.sleep(_RETRY_S)
    return await client.raw.discover_resource(gvk)


async def _apply(
    client: "Client",
    found: "ApiResource",
    document: dict[str, Any],
    options: "PatchOptions",
    *,
    namespace: str,
) -> str:
    from quarterdeck.client import requests
    from quarterdeck.client.interfaces import PatchType
    from quarterdeck.kit import json
    from quarterdeck.wire.path import ResourcePath

    metadata = document["metadata"]
    where = ""
    if found.namespaced:
        where = namespace or metadata.get("namespace") or client.namespace
        document = {**document, "metadata": {**metadata, "namespace": where}}
    path = ResourcePath(*found.gvr, where, metadata["name"])
    request = requests.patch(path, json.encode(document), PatchType.APPLY, options)
    async with await get_transport(client).open(request) as response:
        await response.read()
        return "created" if response.status == 201 else "applied"
