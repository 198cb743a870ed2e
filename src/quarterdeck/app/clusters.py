"""Attaches the clusters operator; in `up` the embedded server is its first cluster.

With `--demo` a few simulated clusters and a registry join, one of them failing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.app import cluster_samples
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.host import Host
from quarterdeck.app.hub_storage import find_redis_address, open_history, open_state
from quarterdeck.app.ingester import add_ingester, build_collector_options
from quarterdeck.hubstate.lifetimes import Lifetimes
from quarterdeck.inventory.health import Thresholds
from quarterdeck.inventory.resources import Limits
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters import HubOptions, Shared
from quarterdeck.runtime import Controller
from quarterdeck.runtime.sharding.sharder import Group

NAME = "clusters"
SAMPLES: tuple[Mapping[str, Any], ...] = cluster_samples.SAMPLES
"""What `config/samples` holds."""
DEMO_SAMPLES: tuple[Mapping[str, Any], ...] = (cluster_samples.PVC_USAGE, cluster_samples.POLICY)
"""What `up --demo` applies: samples that name no external host."""


async def attach(host: Host) -> None:
    """Register the controllers, and in `up` the local and demo clusters."""
    settings = host.get_settings(Settings)
    folder = None if host.settings.in_memory else host.folder
    state = open_state(settings, folder, clock=host.clock)
    host.stack.push_async_callback(state.aclose)
    history = open_history(settings, folder, clock=host.clock)
    host.stack.push_async_callback(history.aclose)
    hub = clusters.register(
        host.manager,
        state=state,
        history=history,
        options=msgspec.structs.replace(
            build_options(settings), collector=build_collector_options(host, settings)
        ),
        namespaces=tuple(filter(None, host.settings.namespace.split(","))),
        shared=find_shared(host, settings),
    )
    address = add_ingester(host, settings, hub, state=state, history=history)
    if host.is_embedded:
        from quarterdeck.app.hub import serve_hub_in_up
        from quarterdeck.app.local_cluster import add_local

        await serve_hub_in_up(host, settings, state, history)

        await add_local(host)
        if host.settings.demo:
            from quarterdeck.app.demo_clusters import add_demo

            add_demo(host, address=address)


def find_shared(host: Host, settings: Settings) -> Shared | None:
    """Whether replicas share the clusters: in `run`, with one Redis and elections by Lease."""
    process = host.settings
    is_shared = settings.cluster_sharding and process.leader_elect and not host.is_embedded
    if not is_shared or find_redis_address(settings) is None:
        return None
    namespace = process.lease_namespace or host.client.namespace
    identity = host.manager.identity
    if process.identity:  # a container that restarts is another replica
        identity = f"{process.identity}_{identity.rpartition('_')[2]}"
    return Shared(Group(f"{process.lease_name}-{NAME}", namespace), identity)


def declare_controllers() -> Sequence[Controller[Any]]:
    """The declarations of its controllers."""
    return clusters.declare_controllers()


def build_options(settings: Settings) -> HubOptions:
    """Build the options of the operator from the settings."""
    limits = Limits(
        pods_per_namespace=settings.max_pods_per_namespace,
        pods=settings.max_total_pods,
        deployments=settings.max_deployments,
        stateful_sets=settings.max_deployments,
        services=settings.max_services,
        config_maps=settings.max_configmaps,
        ingresses=settings.max_configmaps,
        with_labels=settings.collect_resource_labels,
    )
    return HubOptions(
        interval_s=settings.reconciliation_interval,
        scan_interval_s=settings.operator_scan_interval,
        connect_timeout_s=settings.connect_timeout,
        lifetimes=Lifetimes(cache_s=settings.cache_ttl, retention_s=settings.metrics_retention),
        thresholds=Thresholds(
            cpu_warning=settings.cpu_warning_threshold,
            cpu_critical=settings.cpu_critical_threshold,
            memory_warning=settings.memory_warning_threshold,
            memory_critical=settings.memory_critical_threshold,
            nodes_unhealthy=settings.node_unhealthy_threshold,
        ),
        limits=limits if settings.resource_collection_enabled else None,
        namespace_filter=settings.resource_namespace_filter,
        policy_interval_s=settings.policy_validation_interval,
    )
