"""`quarterdeck delete`: delete objects by name or by manifest."""

from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError, print_error, translate
from quarterdeck.cli.flags import (
    Context,
    Files,
    Json,
    Kubeconfig,
    Kustomization,
    Namespace,
    split_targets,
)
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource

    Target = tuple[ApiResource, str, str]
    """A resource, a namespace, a name."""


async def delete(
    kind: Annotated[str, Argument(metavar="KIND", help="Kind of the objects.")] = "",
    names: Annotated[list[str] | None, Argument(metavar="NAME", help="Names of objects.")] = None,
    filename: Files = None,
    kustomize: Kustomization = "",
    ignore_not_found: Annotated[
        bool, Option("--ignore-not-found", help="Succeed for objects that do not exist.")
    ] = False,
    json: Json = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Delete the named objects, or all objects of manifests in reverse order.

    An object that is refused does not keep the others from being deleted.
    """
    import asyncio

    from quarterdeck.cli import manifest_files
    from quarterdeck.cli.resource_paths import check_namespace

    given = split_targets(kind, names or []) if kind else []
    if bool(filename or kustomize) == bool(given) or not all(name for _, name in given):
        raise CommandError("give KIND and NAME, or manifests with --filename", REFUSED)
    for _, name in given:
        if name in (".", ".."):
            raise CommandError(f"invalid name {name!r}", REFUSED)
    async with connect(kubeconfig, context) as client:
        if filename or kustomize:
            manifests = await with_progress(
                asyncio.to_thread(manifest_files.read_given, filename, kustomize),
                "reading manifests",
            )
            await check_namespace(client, manifests, namespace)
            targets = await _read_targets(
                client, manifests, namespace, ignore_not_found=ignore_not_found
            )
        else:
            targets = [await _find_target(client, *each, namespace) for each in given]
        results = [
            await _delete(client, target, ignore_not_found=ignore_not_found, as_json=json)
            for target in targets
        ]
    return OK if all(results) else FAILED


COMMAND = Command(delete)


async def _find_target(client: "Client", kind: str, name: str, namespace: str) -> "Target":
    from quarterdeck.cli.resource_paths import find_resource

    found = await with_progress(find_resource(client, kind), "reading the list of resources")
    return found, (namespace or client.namespace) if found.namespaced else "", name


async def _read_targets(
    client: "Client",
    manifests: "list[dict[str, Any]]",
    namespace: str,
    *,
    ignore_not_found: bool,
) -> "list[Target]":
    from quarterdeck.meta.identity import GVK
    from quarterdeck.wire.status import NotFound

    targets: list[Target] = []
    for document in reversed(manifests):
        metadata = document["metadata"]
        try:
            found = await client.raw.discover_resource(
                GVK.of(document["apiVersion"], document["kind"])
            )
        except NotFound:
            if ignore_not_found:
                continue  # without its CRD there are no objects of the kind
            raise
        where = namespace or metadata.get("namespace") or client.namespace
        targets.append((found, where if found.namespaced else "", metadata["name"]))
    return targets


async def _delete(
    client: "Client", target: "Target", *, ignore_not_found: bool, as_json: bool
) -> bool:
    from quarterdeck.cli.output import format_reference, print_change
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.query import DeleteOptions
    from quarterdeck.wire.status import ApiError, NotFound, Unauthorized

    found, namespace, name = target
    label = format_reference({"metadata": {"name": name}}, found.gvk.kind.lower(), found.gvr.group)
    path = ResourcePath(*found.gvr, namespace, name)
    options = DeleteOptions(propagation_policy="Background")
    try:
        await with_progress(client.raw.delete(path, options), f"deleting {label}")
    except NotFound:
        if ignore_not_found:
            return True
        if as_json:
            print_change(label, "not found", as_json=True)
        else:
            print_error("quarterdeck delete", f"{label} not found")
        return False
    except Unauthorized:
        raise  # the others would be refused as well
    except ApiError as error:
        print_error("quarterdeck delete", f"{label}: {translate(error)[1]}")
        return False
    print_change(label, "deleted", as_json=as_json)
    return True
