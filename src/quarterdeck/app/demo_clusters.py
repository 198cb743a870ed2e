"""Simulated clusters and a registry for `up --demo`."""

import asyncio
import contextlib

from quarterdeck.apis.clusterpulse.v1alpha1 import GROUP
from quarterdeck.app import definitions
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.app.demo_collector import running_collector
from quarterdeck.app.host import Host
from quarterdeck.app.ingester import IngesterAddress
from quarterdeck.app.local_cluster import connect
from quarterdeck.client.client import Client
from quarterdeck.kit import http
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.operators.clusters.simulators.registry import handle_registry
from quarterdeck.server.options import ServerOptions

PROFILES = {
    "demo-east": Profile(nodes=4, pods=24, is_openshift=True, has_olm=True),
    "demo-west": Profile(nodes=3, pods=12, failed_nodes=1),
    "demo-lost": Profile(),
    "demo-edge": Profile(nodes=2, pods=8),
}
"""Simulated clusters; the address of `demo-lost` does not answer."""
LOST = "demo-lost"
PUSHED = "demo-edge"
"""The hub deploys a collector on it, which pushes to the hub."""
_TEXTS = {
    "demo-east": ("Demo East (OpenShift)", {"environment": "production"}),
    "demo-west": ("Demo West", {"environment": "staging"}),
    LOST: ("Demo Lost", {"environment": "test"}),
    PUSHED: ("Demo Edge (push)", {"environment": "edge"}),
}
_INTERVAL_S = 30
_OPTIONS = ServerOptions(simulate_workloads=True, controllers=frozenset({"*", "-node-health"}))
"""Nodes of a profile have no heartbeats; without `node-health` they stay as they are written."""


def add_demo(host: Host, *, address: IngesterAddress) -> None:
    """Start simulated clusters and a registry beside the operators."""

    async def run() -> None:
        async with contextlib.AsyncExitStack() as stack:
            await _start_registry(host, stack)
            clusters = EmbeddedClusters(clock=host.clock, options=_OPTIONS)
            factory = await stack.enter_async_context(clusters)
            for name, profile in PROFILES.items():
                await _start_cluster(host, factory, name, profile)
            config = await factory.create(PUSHED)
            await stack.enter_async_context(running_collector(host, config, address=address))
            await asyncio.Event().wait()

    host.manager.add_runnable("demo-clusters", run)


async def _start_cluster(
    host: Host, factory: EmbeddedClusters, name: str, profile: Profile
) -> None:
    config = await factory.create(name)
    if name == LOST:
        await factory.delete(name)
    else:
        async with Client(config, clock=host.clock) as client:
            await populate(client, profile, clock=host.clock)
    title, labels = _TEXTS[name]
    push = {"collectionMode": "push", "ingesterAddress": f"localhost:{_find_port(host)}"}
    await connect(
        host.admin.raw,
        name,
        config,
        displayName=title,
        labels=labels,
        monitoring={"interval": _INTERVAL_S},
        **(push if name == PUSHED else {}),
    )


def _find_port(host: Host) -> int:
    """The ingester port for the connection; with `--ingester-port 0` the default one."""
    return host.settings.ingester_port or 9443


async def _start_registry(host: Host, stack: contextlib.AsyncExitStack) -> None:
    server = http.Server(handle_registry, clock=host.clock)
    listener = await server.listen("127.0.0.1", 0)
    stack.push_async_callback(server.close)
    registry = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "RegistryConnection",
        "metadata": {"name": "demo-registry", "namespace": "default"},
        "spec": {
            "displayName": "Demo registry",
            "endpoint": listener.url,
            "type": "simulated",
            "monitoring": {"interval": _INTERVAL_S, "checkCatalog": True},
        },
    }
    await definitions.apply(host.admin.raw, [registry])
