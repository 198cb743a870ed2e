"""Whether a collector is connected: a key that expires unless heartbeats renew it."""

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.hubstate.writes import DeleteKeys, SetValue, Write
from quarterdeck.kit import json

LEASE_S = 90
"""Three heartbeats."""


class CollectorLease(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a connected collector."""

    session: str
    """One stream; a newer stream of the same cluster takes the lease over."""
    version: str
    agent_id: str = ""
    connected_at: str
    last_heartbeat: str
    buffered_batches: int = 0
    dropped_batches: int = 0


def get_key(cluster: str) -> str:
    """Where the lease of a cluster's collector is."""
    return keys.cluster(cluster, "collector:lease")


def plan_renewal(cluster: str, lease: CollectorLease) -> Write:
    """Keep the lease for another while."""
    return SetValue(get_key(cluster), json.encode(lease), LEASE_S)


def plan_release(cluster: str) -> Write:
    """Let go of the lease."""
    return DeleteKeys((get_key(cluster),))


async def find_lease(state: StateReader, cluster: str) -> CollectorLease | None:
    """The lease of a cluster's collector; None if none is connected.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    return decode_lease(await state.get(get_key(cluster)))


def decode_lease(data: bytes | None) -> CollectorLease | None:
    """A stored lease; what has another shape counts as none."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=CollectorLease)
    except msgspec.DecodeError:
        return None
