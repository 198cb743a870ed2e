"""Finds the resources that a command names, the paths of objects, and what is at them."""

from typing import TYPE_CHECKING, TypeVar

from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError, print_error, translate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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
