"""The decisions of one member of a sharded group: pure, on times that the caller passes.

Two kinds of Leases: each member renews one of its own, and each shard has one that names its
holder. A shard's Lease is written only when the shard changes hands, so the load on the API server
does not grow with the number of shards.

Why no shard has two owners at once:

- A member acts only within `renew_deadline_s` after it asked for its last renewal. Others take its
  shards only when they have not seen its Lease change for `lease_duration_s`, by their own clock,
  and `lease_duration_s` is longer than `renew_deadline_s`.
- A member whose time ran out even for a moment owns nothing: it must write the Lease of each shard
  again. If another member has decided meanwhile to take the shard, one of the two writes conflicts,
  because both name the resource version they read.
- Member and shard Leases are read in one list, which is one snapshot: a shard's Lease that names a
  member is never newer than what the snapshot says of that member.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.sharding.rendezvous import choose_member


class ShardLease(NamedTuple):
    """The Lease of a shard as it was read."""

    holder: str
    """Identity of a member; empty after a release."""
    version: str
    """Its resource version."""


class Snapshot(NamedTuple):
    """All Leases of the group at one moment."""

    members: Mapping[str, str]
    """Identity to resource version."""
    shards: Mapping[int, ShardLease]


class Claim(NamedTuple):
    """Write ourselves into the Lease of a shard; an empty version creates it."""

    shard: int
    version: str


class Release(NamedTuple):
    """Clear the holder in the Lease of a shard, once its work has ended."""

    shard: int
    version: str


Action: TypeAlias = Claim | Release


class _Sighting(NamedTuple):
    version: str
    at: float


class ShardState:
    """The shards that one member holds, and the members it has seen."""

    def __init__(self, identity: str, count: int, timing: LeaseTiming) -> None:
        timing.check()
        if not identity:
            raise ValueError("the identity of a replica must not be empty")
        if count < 1:
            raise ValueError(f"the number of shards must be at least 1, got {count}")
        self.identity = identity
        self.count = count
        self.timing = timing
        self.held: set[int] = set()
        self._renewed_at = float("-inf")
        self._sightings: dict[str, _Sighting] = {}

    @property
    def valid_until(self) -> float:
        """When we must stop unless our Lease is renewed before."""
        return self._renewed_at + self.timing.renew_deadline_s

    def owns(self, shard: int, now: float) -> bool:
        """Whether we may act for a shard now."""
        return shard in self.held and now < self.valid_until

    def record_renewal(self, asked_at: float, now: float) -> frozenset[int]:
        """Our own Lease was written, by a request that began at `asked_at`.

        Returns the shards that were dropped because our time had run out before.
        """
        lost = self.drop_if_expired(now)
        self._renewed_at = max(self._renewed_at, asked_at)
        return lost

    def drop_if_expired(self, now: float) -> frozenset[int]:
        """Drop all shards if our Lease was not renewed in time; returns those that were held."""
        if now < self.valid_until:
            return frozenset()
        lost, self.held = frozenset(self.held), set()
        return lost

    def record_claim(self, shard: int) -> None:
        """The Lease of a shard names us now."""
        self.held.add(shard)

    def observe(self, snapshot: Snapshot, now: float) -> None:
        """Note which members have renewed; only a change restarts the waiting time."""
        self._sightings = {
            identity: self._see(identity, version, now)
            for identity, version in snapshot.members.items()
        }

    def find_live(self, now: float) -> frozenset[str]:
        """The members that may still act, ourselves included."""
        live = {
            identity
            for identity, seen in self._sightings.items()
            if now < seen.at + self.timing.lease_duration_s
        }
        return frozenset({*live, self.identity})

    def find_dead(self, now: float, *, after_s: float) -> frozenset[str]:
        """The members that have not renewed for `after_s`, whose Lease can be deleted."""
        return frozenset(
            identity
            for identity, seen in self._sightings.items()
            if identity != self.identity and now >= seen.at + after_s
        )

    def plan(self, snapshot: Snapshot, now: float) -> list[Action]:
        """What to write after a snapshot was read; call `observe` with it first."""
        live, actions = self.find_live(now), list[Action]()
        for shard in range(self.count):
            lease = snapshot.shards.get(shard)
            if lease is None or lease.holder != self.identity:
                self.held.discard(shard)  # the Lease was deleted or changed by hand
            if choose_member(shard, live) == self.identity:
                if shard not in self.held and _is_free(lease, self.identity, live):
                    actions.append(Claim(shard, lease.version if lease is not None else ""))
            elif lease is not None and lease.holder == self.identity:
                actions.append(Release(shard, lease.version))
        return actions

    def _see(self, identity: str, version: str, now: float) -> _Sighting:
        known = self._sightings.get(identity)
        return known if known is not None and known.version == version else _Sighting(version, now)


def _is_free(lease: ShardLease | None, identity: str, live: frozenset[str]) -> bool:
    """Whether this member alone may act for the shard."""
    return lease is None or lease.holder in ("", identity) or lease.holder not in live
