"""Mappings from changed objects to the keys to reconcile."""

from collections.abc import Iterable, Sequence

import msgspec

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.names import IMAGE_LABEL
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.conditions import HEALTHY, READY
from quarterdeck.operators.machines.records import SecretHead
from quarterdeck.operators.machines.references import list_secrets
from quarterdeck.runtime import Change, Event, Lister

BY_TEMPLATE = "machine-template"
BY_CLUSTER = "hypervisor-cluster"
BY_POOL = "runner-pool"


def map_secret_to_clusters(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the clusters whose credentials it has."""
    for cluster in lister.list(HypervisorCluster, namespace=head.metadata.namespace):
        if head.metadata.name in list_secrets(cluster):
            yield cluster.key


def map_secret_to_pools(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the runner pools whose deliveries it signs."""
    for pool in lister.list(RunnerPool, namespace=head.metadata.namespace):
        webhook = pool.spec.webhook
        reference = webhook.secret_ref if webhook is not None else None
        if reference is not None and reference.name == head.metadata.name:
            yield pool.key


def map_cluster_to_templates(cluster: HypervisorCluster, lister: Lister) -> Iterable[Key]:
    """Map a cluster to its templates."""
    index = (BY_CLUSTER, str(cluster.key))
    return [each.key for each in lister.list(HypervisorMachineTemplate, index=index)]


def map_template_to_claims(template: HypervisorMachineTemplate, lister: Lister) -> Iterable[Key]:
    """Map a template to the claims that wait for it."""
    for claim in lister.list(MachineClaim, index=(BY_TEMPLATE, str(template.key))):
        if claim.status.phase in (None, "Pending"):
            yield claim.key


def map_template_to_fleets(template: HypervisorMachineTemplate, lister: Lister) -> Iterable[Key]:
    """Map a template to the fleets whose `spec.image` may resolve to it."""
    image = template.metadata.labels.get(IMAGE_LABEL, "")
    for fleet in lister.list(Fleet, namespace=template.metadata.namespace):
        named = fleet.spec.image
        if named == template.metadata.name or (image and named.partition(":")[0] == image):
            yield fleet.key


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str | None = None
    conditions: tuple[_Condition, ...] = ()


class _ClaimHead(msgspec.Struct, frozen=True):
    """The fields of a claim that its owner uses; few, because every event is decoded."""

    status: _Status = _Status()


_WAITING = ("Pending", "Bootstrapping")
_GLANCE = msgspec.json.Decoder(_ClaimHead)


def affects_owner(event: Event) -> bool:
    """Whether a change of a claim concerns its fleet or pool.

    It does if phase, health, annotations or deletion change, or the reason why it waits.
    """
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    old, new = event.old.metadata, event.metadata
    return (
        old.deletion_timestamp != new.deletion_timestamp
        or (old.annotations or {}) != (new.annotations or {})
        or _read_head(event.old.raw) != _read_head(event.new.raw)
    )


def _read_head(raw: bytes) -> tuple[str | None, str, str]:
    status = _GLANCE.decode(raw).status
    health = next((each.status for each in status.conditions if each.type == HEALTHY), "")
    if status.phase not in _WAITING:
        return status.phase, health, ""
    reason = next((each.reason for each in status.conditions if each.type == READY), "")
    return status.phase, health, reason


def index_by_pool(claim: MachineClaim) -> Sequence[str]:
    """Return the value of the index by pool."""
    pool = claim.spec.runner_pool_ref
    return (f"{claim.metadata.namespace}/{pool.name}",) if pool is not None else ()
