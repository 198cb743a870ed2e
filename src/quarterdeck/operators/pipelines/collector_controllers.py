"""The declarations of the controllers about collectors, and their watches."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from quarterdeck.apis.fleetmanagement.names import COLLECTOR_FINALIZER
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    ExternalAttributeSync,
    Pipeline,
    PipelineDiscovery,
    PipelineSet,
    RemoteAttributePolicy,
)
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.pipelines.collector import BY_ID, CollectorObjects
from quarterdeck.operators.pipelines.conditions import (
    READY,
    STALLED,
    SYNCED,
    TRUNCATED,
    TRUNCATED_CONFLICTS,
)
from quarterdeck.operators.pipelines.connection_watches import (
    map_secret_to_syncs,
    watch_connections,
)
from quarterdeck.operators.pipelines.counting import count_reconciles
from quarterdeck.operators.pipelines.discovery import Discoveries
from quarterdeck.operators.pipelines.drivers.records import RecordReader
from quarterdeck.operators.pipelines.external_sync import ExternalSyncs
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.references import SecretHead
from quarterdeck.operators.pipelines.remote_attribute_policy import Policies
from quarterdeck.operators.pipelines.report import report_failure
from quarterdeck.runtime import Controller, Finalizer, Lister, Watch
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter
from quarterdeck.runtime.source.predicate import generation_changed

T = TypeVar("T", bound=Object)
FIRST_RETRY_S = 0.5
LAST_RETRY_S = 300.0


def build_collector_controllers(
    fleets: Fleets, reader: RecordReader | None = None
) -> tuple[Controller[Any], ...]:
    """Every controller about collectors."""
    discoveries, metrics = Discoveries(fleets), fleets.metrics
    found: tuple[Controller[Any], ...] = (
        _build_collector_controller(fleets),
        _declare(RemoteAttributePolicy, Policies(fleets).reconcile, TRUNCATED),
        _declare(
            ExternalAttributeSync,
            ExternalSyncs(fleets, reader).reconcile,
            STALLED,
            watches=(Watch(SecretHead, map_secret_to_syncs),),
            on_deleted=metrics.forget_external_sync,
        ),
        _declare(
            PipelineDiscovery,
            discoveries.discover_pipelines,
            TRUNCATED_CONFLICTS,
            reads=(PipelineSet,),
            written=Pipeline,
        ),
        _declare(
            CollectorDiscovery,
            discoveries.discover_collectors,
            TRUNCATED_CONFLICTS,
            written=Collector,
            on_deleted=metrics.forget_discovery,
        ),
    )
    return tuple(count_reconciles(each, metrics) for each in found)


def _build_collector_controller(fleets: Fleets) -> Controller[Collector]:
    collectors = CollectorObjects(fleets)
    return Controller(
        reconcile=collectors.reconcile,
        for_=Collector,
        watches=(
            Watch(RemoteAttributePolicy, list_collectors, predicates=(generation_changed,)),
            Watch(ExternalAttributeSync, list_collectors),
            Watch(Collector, map_collector_to_rivals, predicates=(generation_changed,)),
            *watch_connections(Collector),
        ),
        indexes={Collector: {BY_ID: lambda each: (each.spec.id,)}},
        finalizers=(Finalizer(COLLECTOR_FINALIZER, collectors.delete),),
        on_error=report_failure,
        ready=None,
        conditions=(READY, SYNCED),
        workers=4,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def _declare(
    kind: type[T],
    reconcile: Any,
    condition: str,
    *,
    watches: tuple[Watch, ...] = (),
    reads: tuple[type[Object], ...] = (),
    written: type[Object] | None = None,
    on_deleted: Callable[[Key], Awaitable[None]] | None = None,
) -> Controller[T]:
    return Controller(
        reconcile=reconcile,
        for_=kind,
        watches=(*watch_connections(kind), *watches),
        reads=(*reads, written) if written is not None else reads,
        writes=(written,) if written is not None else (),
        on_deleted=on_deleted,
        on_error=report_failure,
        ready=None,
        conditions=(READY, SYNCED, condition),
        workers=2,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def map_collector_to_rivals(collector: Collector, lister: Lister) -> Iterable[Key]:
    """Map a Collector to the others of its id: when it is deleted, the next one sets attributes."""
    for other in lister.list(Collector, index=(BY_ID, collector.spec.id)):
        if other.key != collector.key:
            yield other.key


def list_collectors(_: Object, lister: Lister) -> Iterable[Key]:
    """Every Collector, because a policy or a claim may affect each of them."""
    return [each.key for each in lister.list(Collector)]
