"""Finds the resource that a command names, and the path of its objects."""

from typing import TYPE_CHECKING

from quarterdeck.cli.exit_codes import REFUSED, CommandError

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.wire.path import ResourcePath


async def find_resource(client: "Client", kind: str) -> "ApiResource":
    """The resource of a plural, singular, kind or short name."""
    _, found = await client.resource_named(kind)
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
