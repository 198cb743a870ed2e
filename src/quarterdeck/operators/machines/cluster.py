"""The reconciler of HypervisorCluster: is it there, does it accept us, and what does it have."""

import weakref
from collections.abc import Callable, Sequence

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import AvailableResources, HypervisorCluster, NodeStatus
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines.conditions import READY, Reason
from quarterdeck.operators.machines.connection import Connection
from quarterdeck.operators.machines.connections import Connections, CredentialsMissing, Opened
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine import Node
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.providers import ProviderUnknown
from quarterdeck.operators.machines.references import get_cluster_key
from quarterdeck.operators.machines.report import (
    report_condition,
    report_in_use,
    report_unsupported,
)
from quarterdeck.operators.machines.sizes import format_bytes
from quarterdeck.operators.machines.support import find_unsupported_in_cluster
from quarterdeck.runtime import Context, RequeueAfter

CHECK_S = 300.0
RETRY_S = 30.0
_REASONS = {
    Code.UNAUTHORIZED: Reason.AUTHENTICATION_FAILED,
    Code.FORBIDDEN: Reason.AUTHENTICATION_FAILED,
    Code.TLS: Reason.TLS_VERIFICATION_FAILED,
    Code.UNAVAILABLE: Reason.UNREACHABLE,
    Code.TIMEOUT: Reason.UNREACHABLE,
}


class Clusters:
    """Reconciles HypervisorClusters."""

    def __init__(
        self,
        connections: Connections,
        *,
        metrics: MachineMetrics,
        enqueue_users: Callable[[Key], None],
    ) -> None:
        """`enqueue_users` enqueues the objects that wait for a cluster, given by its key."""
        self._connections = connections
        self._metrics = metrics
        self._enqueue_users = enqueue_users
        self._announced: weakref.WeakSet[Connection] = weakref.WeakSet()

    async def reconcile(
        self, cluster: HypervisorCluster, ctx: Context[HypervisorCluster]
    ) -> RequeueAfter:
        """Connect, read the nodes, and report both in the status."""
        report_unsupported(ctx, find_unsupported_in_cluster(cluster))
        try:
            opened, before = await self._connections.open(cluster, ctx)
        except ProviderUnknown as error:
            return self._fail(ctx, Reason.PROVIDER_UNKNOWN, str(error))
        except CredentialsMissing as error:
            return self._fail(ctx, Reason.CREDENTIALS_NOT_FOUND, str(error))
        except HypervisorError as error:
            return self._fail_by(ctx, error)
        if before is not None and before.credentials_hash != opened.credentials_hash:
            ctx.event(Reason.CREDENTIALS_ROTATED, "connected again with changed credentials")
        try:
            return await self._inspect(cluster, ctx, opened)
        except HypervisorError as error:
            return self._fail_by(ctx, error)

    async def _inspect(
        self, cluster: HypervisorCluster, ctx: Context[HypervisorCluster], opened: Opened
    ) -> RequeueAfter:
        connection = opened.connection
        info = await connection.call("test_connection", lambda each: each.test_connection())
        _, listed = await connection.get_nodes(max_age_s=0.0)
        ctx.status.set(
            provider_version=info.version,
            credentials_hash=opened.credentials_hash,
            last_sync_time=rfc3339.format_time(ctx.now()),
            foreign_vms=connection.foreign_vms,
        )
        ours = [node for node in listed if node.name in cluster.spec.nodes]
        online = [node for node in ours if node.is_online]
        report_nodes(ctx, ours, online)
        self._metrics.set_capacity(str(cluster.key), online)
        missing = sorted(set(cluster.spec.nodes) - {node.name for node in ours})
        if missing:
            text = f"the hypervisor has no node {', '.join(missing)}: correct spec.nodes"
            return self._fail(ctx, Reason.NODES_MISSING, text)
        if not online:
            return self._fail(ctx, Reason.UNREACHABLE, "no node of spec.nodes is online")
        text = f"{info.version} answers with {len(online)} of {len(ours)} nodes online"
        report_condition(ctx, READY, TRUE, Reason.CONNECTION_SUCCESSFUL, text)
        if not is_ready(cluster) or connection not in self._announced:
            self._announced.add(connection)
            self._enqueue_users(cluster.key)
        return RequeueAfter(CHECK_S)

    def _fail_by(self, ctx: Context[HypervisorCluster], error: HypervisorError) -> RequeueAfter:
        return self._fail(ctx, _REASONS.get(error.code, Reason.CONNECTION_FAILED), str(error))

    def _fail(self, ctx: Context[HypervisorCluster], reason: Reason, message: str) -> RequeueAfter:
        report_condition(ctx, READY, FALSE, reason, message)
        return RequeueAfter(RETRY_S)

    async def protect(self, cluster: HypervisorCluster, ctx: Context[HypervisorCluster]) -> None:
        """Keep the cluster while something refers to it; the step of its finalizer.

        It stays connected, because its machines can only be deleted by a connection: after a
        restart, or when its credentials change, it connects again.
        """
        templates = [
            each
            for each in await ctx.list(HypervisorMachineTemplate)
            if get_cluster_key(each) == cluster.key
        ]
        claims = [
            each
            for each in await ctx.list(MachineClaim)
            if each.status.vm_ref is not None
            and each.status.vm_ref.hypervisor_cluster == str(cluster.key)
        ]
        if claims:
            await self.reconcile(cluster, ctx)
        report_in_use(ctx, [*templates, *claims])
        await self._connections.close(cluster.key)

    async def forget(self, key: Key) -> None:
        """Close the connection to a deleted cluster."""
        await self._connections.close(key)


def is_ready(cluster: HypervisorCluster) -> bool:
    """Whether machines may be made on a cluster."""
    condition = find(cluster.status.conditions, READY)
    return condition is not None and condition.status == TRUE


def report_nodes(
    ctx: Context[HypervisorCluster], ours: Sequence[Node], online: Sequence[Node]
) -> None:
    """Write the state of each node, and the free resources of those online, into the status."""
    ctx.status.set(
        connected_nodes=len(online),
        available_resources=AvailableResources(
            cpu=str(sum(node.cpu_free for node in online)),
            memory=format_bytes(sum(node.memory_free for node in online)),
            storage=format_bytes(sum(node.storage_free for node in online)),
        ),
        nodes=tuple(
            NodeStatus(
                name=node.name,
                online=node.is_online,
                cpu_total=node.cpu_total,
                cpu_free=node.cpu_free,
                mem_total=format_bytes(node.memory_total),
                mem_free=format_bytes(node.memory_free),
                storage_free=format_bytes(node.storage_free),
                vms=node.vms,
            )
            for node in sorted(ours)
        ),
    )
