"""The Leases of a sharded group: their names, and what is read from and written to them. Pure."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from quarterdeck.apis.coordination import Lease, LeaseSpec
from quarterdeck.kit import rfc3339
from quarterdeck.meta.objects import ObjectMeta, replace, with_metadata
from quarterdeck.runtime.sharding.state import ShardLease, Snapshot

GROUP = "sharding.quarterdeck.dev/group"
"""Label of every Lease of a group: the name of the group."""
SHARD = "sharding.quarterdeck.dev/shard"
"""Label of a shard's Lease: its number."""


def build_member_name(group: str, identity: str) -> str:
    """The name of a member's Lease; identities may have characters that names may not."""
    return f"{group}-member-{hashlib.blake2b(identity.encode(), digest_size=6).hexdigest()}"


def build_shard_name(group: str, shard: int) -> str:
    """The name of a shard's Lease."""
    return f"{group}-shard-{shard:03d}"


def build_lease(group: str, name: str, namespace: str, *, shard: int | None = None) -> Lease:
    """A Lease without a holder."""
    labels = {GROUP: group} if shard is None else {GROUP: group, SHARD: str(shard)}
    return Lease(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))


def hold(lease: Lease, holder: str, *, duration_s: float, now: datetime) -> Lease:
    """The Lease held by `holder` from now on; an empty holder releases it."""
    stamp, before = rfc3339.format_micro(now), lease.spec
    is_same = before.holder_identity == holder
    spec = LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=max(1, round(duration_s)),
        acquire_time=before.acquire_time if is_same and before.acquire_time else stamp,
        renew_time=stamp,
        lease_transitions=(before.lease_transitions or 0) + (0 if is_same else 1),
    )
    return with_metadata(replace(lease, spec=spec), managed_fields=())


def read_snapshot(leases: Iterable[Lease]) -> Snapshot:
    """Read a list of the group's Leases; an invalid Lease is left out."""
    members: dict[str, str] = {}
    shards: dict[int, ShardLease] = {}
    for lease in leases:
        holder = lease.spec.holder_identity or ""
        shard = lease.metadata.labels.get(SHARD)
        if shard is None:
            members[holder] = lease.metadata.resource_version
        elif shard.isdecimal():
            shards[int(shard)] = ShardLease(holder, lease.metadata.resource_version)
    members.pop("", None)
    return Snapshot(members, shards)
