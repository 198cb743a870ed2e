"""Whether a collector is connected: a key that expires unless heartbeats renew it."""

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.hubstate.writes import DeleteIfEqual, SetValue, Write
from quarterdeck.kit import json

LEASE_S = 90
"""Lifetime of a lease in seconds: three heartbeats."""


class CollectorLease(msgspec.Struct, frozen=True, kw_only=True):
    """The lease of a connected collector."""

    session: str
    """Identifies one stream; a newer stream of the same cluster takes over the lease."""
    version: str
    agent_id: str = ""
    connected_at: str
    last_heartbeat: str
    buffered_batches: int = 0
    dropped_batches: int = 0


def get_key(cluster: str) -> str:
    """The key of the lease of a cluster's collector."""
    return keys.cluster(cluster, "collector:lease")


def plan_renewal(cluster: str, lease: CollectorLease) -> Write:
    """Plan the write that renews the lease for LEASE_S."""
    return SetValue(get_key(cluster), json.encode(lease), LEASE_S)


def plan_release(cluster: str, lease: CollectorLease) -> Write:
    """Plan the release of the lease, unless a newer stream takes it over in the meantime."""
    return DeleteIfEqual(get_key(cluster), json.encode(lease))


async def find_lease(state: StateReader, cluster: str) -> CollectorLease | None:
    """The lease of a cluster's collector; None if none is connected.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    return decode_lease(await state.get(get_key(cluster)))


def decode_lease(data: bytes | None) -> CollectorLease | None:
    """Decode a stored lease; None if it cannot be decoded."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=CollectorLease)
    except msgspec.DecodeError:
        return None
