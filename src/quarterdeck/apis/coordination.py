"""`coordination.k8s.io/v1`: Leases, by which replicas agree on a leader."""

from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import Int32, MicroTime
from quarterdeck.meta.objects import Object, Struct


class LeaseSpec(Struct, frozen=True, kw_only=True):
    """Who holds a lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True, kw_only=True):
    """A claim that lapses unless it is renewed."""

    KIND = KindInfo(
        group="coordination.k8s.io",
        version="v1",
        kind="Lease",
        plural="leases",
        singular="lease",
        subresource_status=False,
    )
    spec: LeaseSpec = LeaseSpec()


KINDS: tuple[type[Object], ...] = (Lease,)
