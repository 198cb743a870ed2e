"""Registers the operator with a manager: four controllers and their watches."""

import contextlib
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.v1alpha1 import (
    FINALIZER,
    ClusterConnection,
    MetricSource,
    MonitorAccessPolicy,
    RegistryConnection,
)
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import EmbeddedState, open_embedded
from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters import source_report
from quarterdeck.operators.clusters.arrivals import enqueue_pushed
from quarterdeck.operators.clusters.authority import AuthorityMap, build_scope
from quarterdeck.operators.clusters.cluster_connection import Clusters
from quarterdeck.operators.clusters.conditions import (
    CLUSTER_TYPES,
    READY,
    REGISTRY_TYPES,
    SOURCE_TYPES,
    STORED,
)
from quarterdeck.operators.clusters.credentials import HEADS_ONLY, SecretHead, find_secret_key
from quarterdeck.operators.clusters.drivers.registry import DockerRegistry
from quarterdeck.operators.clusters.hub import PUSH, Hub
from quarterdeck.operators.clusters.leftovers import remove_leftovers
from quarterdeck.operators.clusters.metric_source import Sources
from quarterdeck.operators.clusters.metrics import HubMetrics
from quarterdeck.operators.clusters.monitor_access_policy import Policies
from quarterdeck.operators.clusters.namesakes import (
    BY_NAME,
    map_to_namesakes,
    report_error,
)
from quarterdeck.operators.clusters.options import HubOptions
from quarterdeck.operators.clusters.pool import ClientPool, MakeClient
from quarterdeck.operators.clusters.ports import Registry
from quarterdeck.operators.clusters.registry_connection import Registries
from quarterdeck.operators.clusters.sharing import Shared, add_sharder
from quarterdeck.runtime import Controller, Event, Finalizer, Lister, Manager, Watch
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter
from quarterdeck.runtime.source.predicate import generation_changed

BY_SECRET = "secret"
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 60.0
SOURCE_WORKERS = 8
REGISTRY_WORKERS = 16
_SOURCE_LIMIT_S = 3600.0

__all__ = ["Hub", "Shared", "declare_controllers", "register"]


def register(
    manager: Manager,
    *,
    state: StateStore,
    history: History,
    options: HubOptions | None = None,
    namespaces: Sequence[str] = (),
    make_client: MakeClient | None = None,
    registry: Registry | None = None,
    shared: Shared | None = None,
) -> Hub:
    """Run the operator in a manager; the caller closes the store and the history.

    With `shared`, replicas that use the same store share the clusters.
    """
    hub = _make_hub(
        state=state,
        history=history,
        options=options or HubOptions(),
        manager=manager,
        make_client=make_client,
    )
    if shared is not None:
        hub.share(add_sharder(manager, shared.group, identity=shared.identity))
    manager.set_cache_scope(
        SecretHead, msgspec.structs.replace(HEADS_ONLY, namespaces=tuple(namespaces))
    )
    manager.set_cache_scope(AuthorityMap, build_scope(hub.options.collector.authority_map))
    sources = Sources(hub)
    for each in _build_controllers(hub, sources, registry or DockerRegistry()):
        manager.add(each)

    async def run() -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(hub.pool.aclose)
            stack.push_async_callback(hub.history.flush)
            if isinstance(state, EmbeddedState) and not namespaces:
                await remove_leftovers(state, manager.api, manager.clock)
            tasks = await stack.enter_async_context(Supervisor("hub"))
            tasks.spawn(hub.history.run(), name="history")
            tasks.spawn(sources.run(), name="collections")
            await tasks.wait_failed()

    manager.add_runnable("hub", run, needs_leader_election=shared is None)
    return hub


def declare_controllers() -> tuple[Controller[Any], ...]:
    """The declarations of the controllers, from which permissions are derived; they never run."""
    clock = SystemClock()
    hub = Hub(
        state=open_embedded(None, clock=clock),
        history=HistoryWriter(open_history(None, clock=clock), clock=clock),
        pool=ClientPool(clock=clock),
        options=HubOptions(),
        metrics=HubMetrics(),
        clock=clock,
    )
    return _build_controllers(hub, Sources(hub), DockerRegistry())


def _make_hub(
    *,
    state: StateStore,
    history: History,
    options: HubOptions,
    manager: Manager,
    make_client: MakeClient | None,
) -> Hub:
    writer = HistoryWriter(history, clock=manager.clock)
    metrics = HubMetrics(manager.metrics.registry)
    metrics.follow_history(writer)
    return Hub(
        state=state,
        history=writer,
        pool=ClientPool(clock=manager.clock, make_client=make_client),
        options=options,
        metrics=metrics,
        clock=manager.clock,
    )


def _build_controllers(
    hub: Hub, sources: Sources, registry: Registry
) -> tuple[Controller[Any], ...]:
    return (
        build_cluster_controller(hub),
        build_registry_controller(hub, registry),
        build_source_controller(hub, sources),
        build_policy_controller(hub),
    )


def build_cluster_controller(hub: Hub) -> Controller[ClusterConnection]:
    """The declaration of the ClusterConnection controller."""
    clusters = Clusters(hub)
    return Controller(
        reconcile=clusters.reconcile,
        for_=ClusterConnection,
        watches=(
            Watch(SecretHead, map_secret_to_clusters),
            Watch(ClusterConnection, map_to_namesakes, predicates=(generation_changed,)),
            Watch(AuthorityMap, list_pushed_clusters),
            Watch(MetricSource, list_pushed_clusters, predicates=(generation_changed,)),
            Watch(ClusterConnection, hub.note_push, predicates=(generation_changed,)),
        ),
        indexes={
            ClusterConnection: {
                BY_NAME: lambda each: (each.metadata.name,),
                BY_SECRET: lambda each: (str(find_secret_key(each)),),
            }
        },
        finalizers=(Finalizer(FINALIZER, clusters.delete),),
        sources=(functools.partial(enqueue_pushed, hub),),
        on_deleted=clusters.forget,
        on_error=report_error,
        ready=None,
        conditions=CLUSTER_TYPES,
        needs_leader_election=not hub.is_shared,
        ownership=hub.find_ownership(),
        workers=hub.options.workers,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_registry_controller(hub: Hub, registry: Registry) -> Controller[RegistryConnection]:
    """The declaration of the RegistryConnection controller."""
    registries = Registries(hub, registry)
    return Controller(
        reconcile=registries.reconcile,
        for_=RegistryConnection,
        watches=(
            Watch(SecretHead, map_secret_to_registries),
            Watch(RegistryConnection, map_to_namesakes, predicates=(generation_changed,)),
        ),
        indexes={
            RegistryConnection: {
                BY_NAME: lambda each: (each.metadata.name,),
                BY_SECRET: lambda each: (str(find_secret_key(each) or ""),),
            }
        },
        finalizers=(Finalizer(FINALIZER, registries.delete),),
        on_error=report_error,
        ready=None,
        conditions=REGISTRY_TYPES,
        needs_leader_election=not hub.is_shared,
        ownership=hub.find_ownership(),
        workers=REGISTRY_WORKERS,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_source_controller(hub: Hub, sources: Sources) -> Controller[MetricSource]:
    """The declaration of the MetricSource controller."""
    return Controller(
        reconcile=sources.reconcile,
        for_=MetricSource,
        watches=(Watch(ClusterConnection, list_sources, predicates=(phase_changed,)),),
        finalizers=(Finalizer(FINALIZER, sources.delete),),
        on_deleted=sources.forget,
        on_error=source_report.report_error,
        ready=None,
        conditions=SOURCE_TYPES,
        needs_leader_election=not hub.is_shared,
        workers=SOURCE_WORKERS,
        reconcile_timeout_s=_SOURCE_LIMIT_S,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_policy_controller(hub: Hub) -> Controller[MonitorAccessPolicy]:
    """The declaration of the MonitorAccessPolicy controller."""
    policies = Policies(hub)
    return Controller(
        reconcile=policies.reconcile,
        for_=MonitorAccessPolicy,
        watches=(Watch(MetricSource, list_policies, predicates=(generation_changed,)),),
        finalizers=(Finalizer(FINALIZER, policies.delete),),
        on_deleted=policies.forget,
        ready=None,
        conditions=(READY, STORED),
        needs_leader_election=not hub.is_shared,
        ownership=hub.find_ownership(),
        workers=2,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


# --- mapping functions of the watches


def map_secret_to_clusters(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the connections whose credentials it has."""
    for each in lister.list(ClusterConnection, index=(BY_SECRET, str(head.key))):
        yield each.key


def list_pushed_clusters(_: AuthorityMap | MetricSource, lister: Lister) -> Iterable[Key]:
    """The clusters in push mode: their collectors need the new CA or the new permissions."""
    for each in lister.list(ClusterConnection):
        if each.spec.collection_mode == PUSH:
            yield each.key


def map_secret_to_registries(head: SecretHead, lister: Lister) -> Iterable[Key]:
    """Map a Secret to the registries whose credentials it has."""
    for each in lister.list(RegistryConnection, index=(BY_SECRET, str(head.key))):
        yield each.key


def list_sources(_: ClusterConnection, lister: Lister) -> Iterable[Key]:
    """List every MetricSource, when a cluster was connected or lost."""
    for each in lister.list(MetricSource):
        yield each.key


def list_policies(_: MetricSource, lister: Lister) -> Iterable[Key]:
    """Every policy, when a MetricSource changed: warnings depend on its type and fields."""
    for each in lister.list(MonitorAccessPolicy):
        yield each.key


def phase_changed(event: Event) -> bool:
    """Whether the phase of a ClusterConnection changed."""
    if event.old is None:
        return True
    before = event.old.typed(ClusterConnection).status.phase
    return event.new.typed(ClusterConnection).status.phase != before
