"""Explains access from the objects of a cluster, without a hub."""

import contextlib

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicy
from quarterdeck.client.client import Client
from quarterdeck.inventory.access.explanation import Explanation, explain
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.access.viewer import PolicySet
from quarterdeck.inventory.policy import BUILT_IN_TYPES, CompiledPolicy, compile_policy
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.wire.status import Forbidden


async def explain_access(
    client: Client,
    user: str,
    cluster: str,
    *,
    type_: str = "",
    groups: tuple[str, ...] = (),
    clock: Clock | None = None,
) -> Explanation:
    """Explain why a user may or may not see something, by the policies of all namespaces."""
    policies = PolicySet([_compile(each) for each in await client.list(MonitorAccessPolicy)])
    email = user if "@" in user else ""
    principal = Principal(username=user, email=email, groups=groups)
    viewer = policies.build_viewer(principal, (clock or SystemClock()).now())
    connections = await client.list(ClusterConnection)
    labels = next((dict(c.spec.labels) for c in connections if c.metadata.name == cluster), {})
    return explain(viewer, cluster, labels, type_)


async def find_unknown(client: Client, cluster: str, type_: str) -> list[str]:
    """Messages about a cluster or type that the hub does not have; they are probably misspelled."""
    found = []
    if all(each.metadata.name != cluster for each in await client.list(ClusterConnection)):
        found.append(f"ClusterConnection {cluster!r} not found; it is evaluated without labels")
    if type_ and type_ not in BUILT_IN_TYPES:
        with contextlib.suppress(Forbidden):  # the answer does not need MetricSources
            sources = await client.list(MetricSource)
            if all(each.spec.rbac.resource_type_name != type_ for each in sources):
                found.append(f"no MetricSource has the resourceTypeName {type_!r}")
    return found


def _compile(policy: MonitorAccessPolicy) -> CompiledPolicy:
    namespace, name = policy.key
    return compile_policy(
        policy.spec, name=name, namespace=namespace, compiled_at="", hash_=policy.status.hash
    )
