"""The declarations of the controllers: what each watches, reads and owns."""

from collections.abc import Iterable
from typing import Any

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.jobs import JOBS
from quarterdeck.apis.hypervisor.names import (
    CLAIM_FINALIZER,
    CLUSTER_FINALIZER,
    POOL_FINALIZER,
    POOL_LABEL,
    TEMPLATE_FINALIZER,
)
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.conditions import FALSE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.claim import Claims, Shared
from quarterdeck.operators.machines.claim_deletion import Deletion
from quarterdeck.operators.machines.cluster import Clusters
from quarterdeck.operators.machines.conditions import (
    CLAIM_TYPES,
    CLUSTER_TYPES,
    FLEET_TYPES,
    POOL_TYPES,
    PROGRESSING,
    READY,
    TEMPLATE_TYPES,
    Reason,
)
from quarterdeck.operators.machines.fleet import Fleets
from quarterdeck.operators.machines.mappings import (
    BY_CLUSTER,
    BY_POOL,
    BY_TEMPLATE,
    affects_owner,
    index_by_pool,
    map_cluster_to_templates,
    map_secret_to_clusters,
    map_secret_to_pools,
    map_template_to_claims,
    map_template_to_fleets,
)
from quarterdeck.operators.machines.pool import Pools
from quarterdeck.operators.machines.pool_deletion import delete_runners
from quarterdeck.operators.machines.records import (
    ConfigRecord,
    SecretHead,
)
from quarterdeck.operators.machines.references import (
    get_cluster_key,
    get_template_key,
)
from quarterdeck.operators.machines.report import report_condition, set_condition
from quarterdeck.operators.machines.shared_parts import Machines
from quarterdeck.operators.machines.template import Templates
from quarterdeck.runtime import (
    Context,
    Controller,
    Finalizer,
    Lister,
    Owns,
    Stalled,
    Waiting,
    Watch,
)
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter

FIRST_RETRY_S = 0.5
LAST_RETRY_S = 300.0
CLAIM_WORKERS = 32
FIELD_MANAGER = "hyperfleet-controller"
"""The field manager of everything that the operator applies."""


def build_controllers(
    machines: Machines, *, claims: Any, enqueue_users: Any
) -> tuple[Controller[Any], ...]:
    """Every controller of the operator."""
    return (
        build_cluster_controller(
            Clusters(machines.connections, metrics=machines.metrics, enqueue_users=enqueue_users)
        ),
        build_template_controller(Templates(machines.connections)),
        build_claim_controller(machines, claims=claims),
        build_fleet_controller(machines),
        build_pool_controller(machines),
    )


def build_cluster_controller(clusters: Clusters) -> Controller[HypervisorCluster]:
    """The declaration of the HypervisorCluster controller."""
    return Controller(
        reconcile=clusters.reconcile,
        for_=HypervisorCluster,
        watches=(Watch(SecretHead, map_secret_to_clusters),),
        # namespaces: the operator's identity is that of kube-system, read once at the start
        reads=(HypervisorMachineTemplate, MachineClaim, Namespace),
        finalizers=(Finalizer(CLUSTER_FINALIZER, clusters.protect),),
        on_deleted=clusters.forget,
        ready=None,
        conditions=CLUSTER_TYPES,
        field_manager=FIELD_MANAGER,
        workers=4,
        rate_limiter=_build_limiter,
    )


def build_template_controller(templates: Templates) -> Controller[HypervisorMachineTemplate]:
    """The declaration of the HypervisorMachineTemplate controller."""
    return Controller(
        reconcile=templates.reconcile,
        for_=HypervisorMachineTemplate,
        watches=(Watch(HypervisorCluster, map_cluster_to_templates),),
        reads=(MachineClaim,),
        indexes={
            HypervisorMachineTemplate: {BY_CLUSTER: lambda each: (str(get_cluster_key(each)),)}
        },
        finalizers=(Finalizer(TEMPLATE_FINALIZER, templates.protect),),
        ready=None,
        conditions=TEMPLATE_TYPES,
        field_manager=FIELD_MANAGER,
        workers=4,
        rate_limiter=_build_limiter,
    )


def build_claim_controller(machines: Machines, *, claims: Any) -> Controller[MachineClaim]:
    """Build the declaration of the MachineClaim controller."""
    shared = Shared(
        connections=machines.connections,
        operator_uid=lambda: machines.operator_uid,
        claims=claims,
        metrics=machines.metrics,
        rng=machines.random,
        expected_machines=machines.expected_machines,
        inviter=lambda: machines.inviter,
    )

    async def forget(key: Key) -> None:
        machines.expected_machines.drop(key)

    def map_record_to_claims(record: ConfigRecord, lister: Lister) -> Iterable[Key]:
        """Load the feature flags, and map a record of jobs to the claims that wait for a job."""
        machines.features.load(lister.list(ConfigRecord))
        pool = record.metadata.labels.get(POOL_LABEL, "")
        if record.purpose == JOBS and pool:
            value = f"{record.metadata.namespace}/{pool}"
            for claim in lister.list(MachineClaim, index=(BY_POOL, value)):
                if claim.is_deleting:
                    yield claim.key

    return Controller(
        reconcile=Claims(shared).reconcile,
        for_=MachineClaim,
        watches=(
            Watch(HypervisorMachineTemplate, map_template_to_claims),
            Watch(ConfigRecord, map_record_to_claims),
        ),
        reads=(HypervisorCluster,),
        indexes={
            MachineClaim: {
                BY_TEMPLATE: lambda each: (str(get_template_key(each)),),
                BY_POOL: index_by_pool,
            }
        },
        finalizers=(Finalizer(CLAIM_FINALIZER, Deletion(shared).run),),
        on_deleted=forget,
        on_error=report_hold,
        ready=None,
        conditions=CLAIM_TYPES,
        field_manager=FIELD_MANAGER,
        workers=CLAIM_WORKERS,
        rate_limiter=_build_limiter,
    )


def build_fleet_controller(machines: Machines) -> Controller[Fleet]:
    """The declaration of the Fleet controller."""
    fleets = Fleets(
        features=machines.features, rng=machines.random, monotonic=machines.clock.monotonic
    )
    return Controller(
        reconcile=fleets.reconcile,
        for_=Fleet,
        owns=(Owns(MachineClaim, predicates=(affects_owner,)),),
        watches=(Watch(HypervisorMachineTemplate, map_template_to_fleets),),
        on_deleted=fleets.forget,
        on_error=report_stalled,
        ready=None,
        conditions=FLEET_TYPES,
        field_manager=FIELD_MANAGER,
        workers=8,
        rate_limiter=_build_limiter,
    )


def build_pool_controller(machines: Machines) -> Controller[RunnerPool]:
    """The declaration of the RunnerPool controller."""
    pools = Pools(features=machines.features, rng=machines.random, metrics=machines.metrics)
    return Controller(
        reconcile=pools.reconcile,
        for_=RunnerPool,
        owns=(Owns(MachineClaim, predicates=(affects_owner,)), Owns(ConfigRecord)),
        watches=(Watch(SecretHead, map_secret_to_pools),),
        finalizers=(Finalizer(POOL_FINALIZER, delete_runners),),
        on_deleted=pools.forget,
        ready=None,
        conditions=POOL_TYPES,
        field_manager=FIELD_MANAGER,
        workers=8,
        rate_limiter=_build_limiter,
    )


def report_hold(ctx: Context[MachineClaim], error: Exception) -> None:
    """Report in the condition Ready what a claim waits for, or what a user has to correct."""
    if ctx.obj.is_deleting or ctx.status.is_condition_set(READY):
        return
    if isinstance(error, Stalled):
        report_condition(ctx, READY, FALSE, Reason(error.reason), error.message)
    elif isinstance(error, Waiting) and ctx.status.current.phase != "Ready":
        set_condition(ctx, READY, FALSE, Reason(error.reason), error.message)


def report_stalled(ctx: Context[Fleet], error: Exception) -> None:
    """Report in a condition and an event why the fleet makes no progress."""
    if isinstance(error, Stalled):
        report_condition(ctx, PROGRESSING, FALSE, Reason(error.reason), error.message)


def _build_limiter() -> ItemExponentialFailureRateLimiter:
    return ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S)
