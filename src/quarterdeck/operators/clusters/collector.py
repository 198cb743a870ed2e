"""The collector of a ClusterConnection in push mode: its token, and what the status says of it."""

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection, CollectorStatus
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.hubstate.push.tokens import TokenRecord
from quarterdeck.hubstate.writes import SetValue
from quarterdeck.kit import json

TOKEN_HASH = "clusterpulse.io/collector-token-hash"
"""Annotation that `quarterdeck clusters join` sets: the hash of the token it printed."""
_ISSUED = "clusterpulse.io/collector-token-issued"


async def keep_token(state: StateStore, connection: ClusterConnection) -> None:
    """Let the ingester accept the token whose hash the connection has, and no other.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    hashed = connection.metadata.annotations.get(TOKEN_HASH, "")
    name = connection.metadata.name
    if not hashed or tokens.matches(await state.get(tokens.get_key(name)), hashed):
        return
    record = TokenRecord(hashed, connection.metadata.annotations.get(_ISSUED, ""))
    await state.commit([SetValue(tokens.get_key(name), json.encode(record))])


def describe(lease: CollectorLease | None, image: str) -> CollectorStatus:
    """What `status.collectorStatus` says."""
    if lease is None:
        return CollectorStatus(connected=False, image=image)
    return CollectorStatus(
        connected=True, last_heartbeat=lease.last_heartbeat, version=lease.version, image=image
    )
