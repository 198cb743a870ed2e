"""Registers the operator with a manager: its controllers, their watches, and the sweep."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.fleetmanagement.names import SET_FINALIZER
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    FINALIZER,
    FleetConnection,
    Pipeline,
    PipelineRevision,
    PipelineSet,
    TenantPolicy,
)
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import fleet_connection, report
from quarterdeck.operators.pipelines.address import Address
from quarterdeck.operators.pipelines.collector_controllers import build_collector_controllers
from quarterdeck.operators.pipelines.conditions import READY, SYNCED, TYPES
from quarterdeck.operators.pipelines.connection_watches import (
    map_secret_to_connections,
    map_through_connections,
    watch_connections,
)
from quarterdeck.operators.pipelines.counting import count_reconciles
from quarterdeck.operators.pipelines.deletion import Deletion
from quarterdeck.operators.pipelines.desired import choose_name
from quarterdeck.operators.pipelines.drivers.records import RecordReader
from quarterdeck.operators.pipelines.fleet_connection import Connections
from quarterdeck.operators.pipelines.fleets import Fleets, MakeClient
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.operators.pipelines.pipeline import BY_NAME, Pipelines
from quarterdeck.operators.pipelines.pipeline_set import PipelineSets
from quarterdeck.operators.pipelines.references import (
    HEADS_ONLY,
    ConfigMapHead,
    SecretHead,
    index_reference,
)
from quarterdeck.operators.pipelines.set_members import get_source
from quarterdeck.operators.pipelines.tenant_policy import build_tenant_policy_controller
from quarterdeck.operators.pipelines.writes import Writes
from quarterdeck.runtime import Context, Controller, Finalizer, Lister, Manager, Watch, get_logger
from quarterdeck.runtime.cache.event import Event
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter
from quarterdeck.runtime.source.predicate import desired_state_changed, generation_changed

BY_REFERENCE = "fleet-contents"
BY_CONNECTION = "fleet-connection"
FIRST_RETRY_S = 0.5
LAST_RETRY_S = 300.0


def register(
    manager: Manager,
    *,
    default: Address | None = None,
    namespaces: Sequence[str] = (),
    workers: int = 8,
    make_client: MakeClient | None = None,
    rng: random.Random | None = None,
    reader: RecordReader | None = None,
) -> Fleets:
    """Run the operator in a manager; `default` is the server of objects without a connection."""
    metrics = FleetMetrics(manager.metrics.registry)
    fleets = Fleets(clock=manager.clock, metrics=metrics, default=default, make_client=make_client)
    sweeps = Connections(
        fleets,
        pipelines=lambda: manager.informers.list(Pipeline),
        enqueue=lambda key: manager.enqueue("pipeline", key),
        clock=manager.clock,
        rng=rng if rng is not None else random.Random(),
    )
    for kind in (ConfigMapHead, SecretHead):
        manager.set_cache_scope(
            kind, msgspec.structs.replace(HEADS_ONLY, namespaces=tuple(namespaces))
        )
    manager.add(build_pipeline_controller(fleets, metrics, workers=workers))
    manager.add(count_reconciles(build_connection_controller(sweeps), metrics))
    manager.add(build_tenant_policy_controller())
    manager.add(count_reconciles(build_pipeline_set_controller(fleets), metrics))
    for controller in build_collector_controllers(fleets, reader):
        manager.add(controller)

    async def run() -> None:
        try:
            await sweeps.sweep_default(get_logger("pipelines"))
        finally:
            await fleets.aclose()

    manager.add_runnable("fleet-sweep", run)
    return fleets


def declare_controllers() -> tuple[Controller[Any], ...]:
    """The declarations of the controllers, from which permissions are derived; they never run."""
    clock, metrics = SystemClock(), FleetMetrics()
    fleets = Fleets(clock=clock, metrics=metrics)
    sweeps = Connections(
        fleets, pipelines=list, enqueue=lambda key: None, clock=clock, rng=random.Random()
    )
    return (
        build_pipeline_controller(fleets, metrics),
        build_connection_controller(sweeps),
        build_tenant_policy_controller(),
        build_pipeline_set_controller(fleets),
        *build_collector_controllers(fleets),
    )


def build_pipeline_controller(
    fleets: Fleets, metrics: FleetMetrics, *, workers: int = 8
) -> Controller[Pipeline]:
    """The declaration of the Pipeline controller."""
    writes = Writes()
    pipelines = Pipelines(fleets, writes, metrics)

    def on_error(ctx: Context[Pipeline], error: Exception) -> None:
        if reason := report.report_error(ctx, error):
            metrics.count_reconcile("Pipeline", reason)

    return Controller(
        reconcile=pipelines.reconcile,
        for_=Pipeline,
        watches=(
            Watch(Pipeline, map_pipeline_to_rivals, predicates=(names_changed,)),
            Watch(FleetConnection, map_connection_to_pipelines, predicates=(generation_changed,)),
            Watch(PipelineSet, map_set_to_pipelines),
            Watch(ConfigMapHead, map_config_map_to_pipelines),
            Watch(SecretHead, map_secret_to_pipelines),
        ),
        indexes={
            Pipeline: {
                BY_NAME: list_names,
                BY_REFERENCE: lambda each: tuple(filter(None, (index_reference(each),))),
                BY_CONNECTION: lambda each: (_index_connection(each),),
            }
        },
        reads=(PipelineRevision, TenantPolicy, Namespace),
        writes=(PipelineRevision,),
        finalizers=(Finalizer(FINALIZER, Deletion(fleets, writes).run),),
        on_deleted=pipelines.forget,
        on_error=on_error,
        ready=None,
        conditions=TYPES,
        workers=workers,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_connection_controller(sweeps: Connections) -> Controller[FleetConnection]:
    """The declaration of the FleetConnection controller."""
    return Controller(
        reconcile=sweeps.reconcile,
        for_=FleetConnection,
        watches=(Watch(SecretHead, map_secret_to_connections),),
        on_error=fleet_connection.report_error,
        ready=None,
        conditions=(READY,),
        workers=2,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_pipeline_set_controller(fleets: Fleets) -> Controller[PipelineSet]:
    """The declaration of the PipelineSet controller."""
    sets = PipelineSets(fleets)
    return Controller(
        reconcile=sets.reconcile,
        for_=PipelineSet,
        watches=(
            Watch(Pipeline, map_pipeline_to_sets, predicates=(desired_state_changed,)),
            Watch(PipelineSet, map_set_to_rivals, predicates=(desired_state_changed,)),
            Watch(ConfigMapHead, map_config_map_to_sets),
            Watch(SecretHead, map_secret_to_sets),
            *watch_connections(PipelineSet),
        ),
        finalizers=(Finalizer(SET_FINALIZER, sets.delete),),
        on_error=report.report_failure,
        ready=None,
        conditions=(READY, SYNCED),
        workers=2,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


# --- mapping functions of the watches


def map_set_to_pipelines(set_: PipelineSet, lister: Lister) -> Iterable[Key]:
    """Map a set to the pipelines that it sends, or would send."""
    if set_.spec.selector is None:
        return
    for pipeline in lister.list(Pipeline, namespace=set_.metadata.namespace):
        if set_.spec.selector.matches(pipeline.metadata.labels):
            yield pipeline.key


def map_pipeline_to_sets(pipeline: Pipeline, lister: Lister) -> Iterable[Key]:
    """Map a pipeline to the sets that select it, before or after its change."""
    for set_ in lister.list(PipelineSet, namespace=pipeline.metadata.namespace):
        if set_.spec.selector is not None and set_.spec.selector.matches(pipeline.metadata.labels):
            yield set_.key


def map_set_to_rivals(set_: PipelineSet, lister: Lister) -> Iterable[Key]:
    """Map a set to the others of its source: when it is deleted, the next one gets the source."""
    for other in lister.list(PipelineSet):
        if other.key != set_.key and get_source(other) == get_source(set_):
            yield other.key


def list_names(pipeline: Pipeline) -> tuple[str, ...]:
    """List the desired name of an object and the name it holds: two during a rename."""
    held = pipeline.status.name if pipeline.status.id else ""
    return tuple(dict.fromkeys(filter(None, (choose_name(pipeline), held))))


def names_changed(event: Event) -> bool:
    """Whether an object was created or deleted, or its desired state or its names changed."""
    if desired_state_changed(event) or event.old is None:
        return True
    return list_names(event.new.typed(Pipeline)) != list_names(event.old.typed(Pipeline))


def map_pipeline_to_rivals(pipeline: Pipeline, lister: Lister) -> Iterable[Key]:
    """Map a pipeline to the others of its name: when it is deleted, the next one gets the name."""
    for name in list_names(pipeline):
        for other in lister.list(Pipeline, index=(BY_NAME, name)):
            if other.key != pipeline.key:
                yield other.key


def map_connection_to_pipelines(connection: FleetConnection, lister: Lister) -> Iterable[Key]:
    """Map a connection to the pipelines that name it, and those of its namespace with no name."""
    namespace, name = connection.key
    for value in (f"{namespace}/{name}", f"{namespace}/"):
        for pipeline in lister.list(Pipeline, index=(BY_CONNECTION, value)):
            yield pipeline.key


def map_config_map_to_pipelines(head: ConfigMapHead, lister: Lister) -> Iterable[Key]:
    """Map a ConfigMap to the pipelines whose contents it has."""
    for pipeline in lister.list(Pipeline, index=(BY_REFERENCE, f"ConfigMap/{head.key}")):
        yield pipeline.key


def map_secret_to_pipelines(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the pipelines whose contents or connection's credentials it has."""
    for pipeline in lister.list(Pipeline, index=(BY_REFERENCE, f"Secret/{head.key}")):
        yield pipeline.key
    yield from map_through_connections(head, lister, map_connection_to_pipelines)


def map_config_map_to_sets(head: ConfigMapHead, lister: Lister) -> Iterable[Key]:
    """Map a ConfigMap to the sets that send the pipelines whose contents it has."""
    for pipeline in lister.list(Pipeline, index=(BY_REFERENCE, f"ConfigMap/{head.key}")):
        yield from map_pipeline_to_sets(pipeline, lister)


def map_secret_to_sets(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the sets that send the pipelines whose contents it has."""
    for pipeline in lister.list(Pipeline, index=(BY_REFERENCE, f"Secret/{head.key}")):
        yield from map_pipeline_to_sets(pipeline, lister)


def _index_connection(pipeline: Pipeline) -> str:
    reference = pipeline.spec.connection_ref
    name = reference.name if reference is not None else ""
    return f"{pipeline.metadata.namespace}/{name}"
