"""Finds the resources that a command names, the paths of objects, and what is at them."""

from typing import TYPE_CHECKING, Any, TypeVar

from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError, print_error, translate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath
    from quarterdeck.wire.status import NotFound

Result = TypeVar("Result")


async def find_resource(client: "Client", kind: str) -> "ApiResource":
    """The resource of a plural, singular, kind or short name."""
    _, found = await client.discover_resource_by_name(kind)
    return found


def build_path(
    client: "Client", found: "ApiResource", name: str, namespace: str, *, all_namespaces: bool
) -> "ResourcePath":
    """The path to read from.

    Raises:
        CommandError: if a name and all namespaces are given.
    """
    from quarterdeck.wire.path import ResourcePath

    if all_namespaces and name:
        raise CommandError(
            "NAME and --all-namespaces are mutually exclusive: use --namespace", REFUSED
        )
    where = ""
    if found.namespaced and not all_namespaces:
        where = namespace or client.namespace
    return ResourcePath(*found.gvr, where, name)


async def check_namespace(
    client: "Client", documents: "Sequence[dict[str, Any]]", namespace: str
) -> None:
    """Check that no object names another namespace than --namespace, as kubectl does.

    Of objects without a namespace, as of a ClusterRole in what Helm renders, it has no meaning.

    Raises:
        CommandError: naming the first such object.
    """
    for document in documents:
        metadata = document["metadata"]
        own = metadata.get("namespace")
        if not namespace or not own or own == namespace:
            continue
        if await _is_namespaced(client, document):
            raise CommandError(
                f'{document["kind"]} {metadata["name"]} is in namespace "{own}", not in '
                f'"{namespace}" (--namespace); leave out --namespace, or the namespace of the '
                "manifest",
                REFUSED,
            )


async def _is_namespaced(client: "Client", document: "dict[str, Any]") -> bool:
    from quarterdeck.cli.connection import with_progress
    from quarterdeck.meta.identity import GVK
    from quarterdeck.wire.status import NotFound

    gvk = GVK.of(document["apiVersion"], document["kind"])
    try:
        found = await with_progress(
            client.raw.discover_resource(gvk), "reading the list of resources"
        )
    except NotFound:  # its definition may be among the manifests
        return True
    return found.namespaced


async def read_each(
    paths: "list[ResourcePath]", read: "Callable[[ResourcePath], Awaitable[Result]]"
) -> "tuple[list[tuple[ResourcePath, Result]], list[NotFound]]":
    """Read every path; the first error ends it, except for names that do not exist."""
    from quarterdeck.wire.status import NotFound

    found: list[tuple[ResourcePath, Result]] = []
    missing: list[NotFound] = []
    for path in paths:
        try:
            found.append((path, await read(path)))
        except NotFound as error:
            if not path.name:
                raise
            missing.append(error)
    return found, missing


def print_missing(prog: str, missing: "list[NotFound]") -> int:
    """Print a line for each name that was not found; returns the exit code."""
    for error in missing:
        print_error(prog, translate(error)[1])
    return FAILED if missing else OK
