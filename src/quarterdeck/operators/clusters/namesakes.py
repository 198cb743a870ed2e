"""Connections of one name: names are keys in the store, so only the oldest object has its name."""

from collections.abc import Iterable
from typing import TypeVar

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.registry_connection import RegistryConnection
from quarterdeck.meta.conditions import FALSE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters.conditions import READY, Reason
from quarterdeck.runtime import Context, Lister, Stalled, Waiting

BY_NAME = "connection-name"
"""Index of connections by name, over all namespaces."""

Connection = TypeVar("Connection", ClusterConnection, RegistryConnection)


async def ensure_only_one(connection: Connection, ctx: Context[Connection]) -> None:
    """Refuse a connection whose name an older one has.

    Raises:
        Stalled: naming the name.
    """
    if await has_rival(connection, ctx):
        raise Stalled(
            Reason.NAME_CONFLICT,
            f"the name {connection.metadata.name!r} is already used by an older "
            f"{connection.KIND.kind} in another namespace: choose another name, names must be "
            "unique on a hub",
        )


async def has_rival(connection: Connection, ctx: Context[Connection]) -> bool:
    """Whether an older connection of another namespace has the name."""

    def age(each: Connection) -> tuple[str, str]:
        return each.metadata.creation_timestamp or "", each.metadata.uid

    others = await ctx.list(type(connection), index=(BY_NAME, connection.metadata.name))
    return any(each.key != connection.key and age(each) < age(connection) for each in others)


def map_to_namesakes(connection: Connection, lister: Lister) -> Iterable[Key]:
    """Map a connection to the others of its name: the next one gets the name when it is gone."""
    for each in lister.list(type(connection), index=(BY_NAME, connection.metadata.name)):
        if each.key != connection.key:
            yield each.key


def report_error(ctx: Context[Connection], error: Exception) -> None:
    """Report why nothing could be read."""
    if isinstance(error, Stalled | Waiting):
        ctx.status.set(phase="Error", message=error.message)
        ctx.status.set_condition(READY, FALSE, error.reason, error.message)
