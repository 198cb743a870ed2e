"""The collector of a ClusterConnection in push mode: its token and its status."""

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection, CollectorStatus
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.hubstate.push.tokens import TokenRecord
from quarterdeck.hubstate.writes import SetValue
from quarterdeck.kit import json, rfc3339

TOKEN_HASH = "clusterpulse.io/collector-token-hash"
"""Annotation that `quarterdeck clusters join` sets: the hash of the token it printed."""
_ISSUED = "clusterpulse.io/collector-token-issued"
_HEARTBEAT_STEP_S = 60


async def store_token_hash(state: StateStore, connection: ClusterConnection) -> None:
    """Store the token hash of the connection's annotation, so that the ingester accepts that token.

    Raises:
        HubStateError: if the store cannot be read or written.
    """
    hashed = connection.metadata.annotations.get(TOKEN_HASH, "")
    name = connection.metadata.name
    if not hashed or tokens.matches(await state.get(tokens.get_key(name)), hashed):
        return
    record = TokenRecord(hashed, connection.metadata.annotations.get(_ISSUED, ""))
    await state.commit([SetValue(tokens.get_key(name), json.encode(record))])


def describe(
    lease: CollectorLease | None, image: str, before: CollectorStatus | None
) -> CollectorStatus:
    """Build `status.collectorStatus`.

    A heartbeat alone changes it about once a minute: not every visit writes the status.
    """
    if lease is None:
        return CollectorStatus(connected=False, image=image)
    found = CollectorStatus(
        connected=True, last_heartbeat=lease.last_heartbeat, version=lease.version, image=image
    )
    if before is None or not before.last_heartbeat:
        return found
    same = msgspec.structs.replace(found, last_heartbeat=before.last_heartbeat)
    then, now = rfc3339.parse(before.last_heartbeat), rfc3339.parse(lease.last_heartbeat)
    age_s = abs((now - then).total_seconds())  # below 0 after the clock was set back
    return before if same == before and age_s < _HEARTBEAT_STEP_S else found
