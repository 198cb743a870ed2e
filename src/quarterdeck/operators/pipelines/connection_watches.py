"""Watches of what an object needs to reach its server: its FleetConnection, and that one's Secret.

An object whose connection is missing or cannot be used waits for a change, so every kind that uses
connections needs them.
"""

from collections.abc import Callable, Iterable
from typing import Any

from quarterdeck.apis.fleetmanagement.v1alpha1 import ExternalAttributeSync, FleetConnection
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines.references import SecretHead
from quarterdeck.runtime import Lister, Watch
from quarterdeck.runtime.source.predicate import generation_changed

MapConnection = Callable[[FleetConnection, Lister], Iterable[Key]]


def watch_connections(kind: type[Any]) -> tuple[Watch, ...]:
    """The watches of a kind with `spec.connectionRef`."""

    def map_connection(connection: FleetConnection, lister: Lister) -> Iterable[Key]:
        for each in lister.list(kind, namespace=connection.metadata.namespace):
            reference = each.spec.connection_ref
            if reference is None or reference.name in ("", connection.metadata.name):
                yield each.key

    def map_secret(head: SecretHead, lister: Lister) -> Iterable[Key]:
        return map_through_connections(head, lister, map_connection)

    return (
        Watch(FleetConnection, map_connection, predicates=(generation_changed,)),
        Watch(SecretHead, map_secret),
    )


def map_secret_to_connections(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the connections whose credentials it has."""
    for connection in lister.list(FleetConnection, namespace=head.metadata.namespace):
        reference = connection.spec.secret_ref
        if reference is not None and reference.name == head.metadata.name:
            yield connection.key


def map_through_connections(
    head: SecretHead, lister: Lister, map_connection: MapConnection
) -> Iterable[Key]:
    """Map a Secret to the objects of the connections whose credentials it has."""
    for key in map_secret_to_connections(head, lister):
        connection = lister.get(FleetConnection, key)
        if connection is not None:
            yield from map_connection(connection, lister)


def map_secret_to_syncs(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the ExternalAttributeSyncs whose source needs it."""
    for sync in lister.list(ExternalAttributeSync, namespace=head.metadata.namespace):
        reference = sync.spec.source.secret_ref
        if reference is not None and reference.name == head.metadata.name:
            yield sync.key
