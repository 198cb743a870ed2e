"""The hub API over many clusters that are collected anew all the time.

`python -m bench.peers.hub_viewers CLUSTERS INTERVAL` fills a store, serves the hub API on a free
port of loopback, prints the port, and rewrites every cluster once an INTERVAL as operators do. The
token `restricted` belongs to a viewer who may see half of the nodes and namespaces, `root` to one
who may see everything.
"""

import asyncio
import contextlib
import sys
from datetime import datetime

from quarterdeck.apis.clusterpulse.monitor_access_policy import (
    Access,
    ClusterRule,
    ClusterScope,
    ClusterSelector,
    Identity,
    MonitorAccessPolicySpec,
    NameFilter,
    Permissions,
    PolicyScope,
    ResourceFilters,
    ResourceRule,
    Subjects,
)
from quarterdeck.hubstate import cluster_writes, policy_writes
from quarterdeck.hubstate.cluster_writes import ClusterSpec, ClusterTtls
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.cluster import sum_nodes
from quarterdeck.inventory.nodes import NodeFacts, PodTally
from quarterdeck.inventory.policy import compile_policy
from quarterdeck.inventory.resources import PodSummary, ResourceLists
from quarterdeck.kit import http, rfc3339
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub.identity import Authenticator
from quarterdeck.services.hub.service import HubServer

NODES, PODS, NAMESPACES = 10, 200, 20
TTLS = ClusterTtls(interval_s=60, cache_s=600, scan_s=600, retention_s=600)
TOKENS = {
    "restricted": Principal(username="viewer"),
    "root": Principal(username="root", groups=("system:masters",)),
}


def _policy() -> MonitorAccessPolicySpec:
    resources = (
        ResourceRule(
            type="nodes", visibility="filtered", filters=ResourceFilters(labels={"pool": "a"})
        ),
        ResourceRule(
            type="namespaces",
            visibility="filtered",
            filters=ResourceFilters(names=NameFilter(allowed=("team-1*",))),
        ),
    )
    rule = ClusterRule(
        selector=ClusterSelector(match_labels={"env": "prod"}),
        permissions=Permissions(view=True, view_metrics=True),
        resources=resources,
    )
    return MonitorAccessPolicySpec(
        identity=Identity(subjects=Subjects(users=("viewer",))),
        access=Access(effect="Allow"),
        scope=PolicyScope(clusters=ClusterScope(rules=(rule,))),
    )


async def write_cluster(state: StateStore, name: str, now: datetime) -> None:
    text = rfc3339.format_time(now)
    nodes = [
        NodeFacts(
            name=f"{name}-{index}",
            timestamp=text,
            status="Ready",
            roles=("worker",),
            cpu_capacity=8.0,
            memory_capacity=32 * 2**30,
            labels={"pool": "ab"[index % 2], "kubernetes.io/os": "linux"},
        )
        for index in range(NODES)
    ]
    tally = PodTally()
    tally.total = tally.running = PODS
    spaces = [f"team-{index}" for index in range(NAMESPACES)]
    pods = tuple(
        PodSummary(name=f"pod-{index}", namespace=spaces[index % NAMESPACES], status="Running")
        for index in range(PODS)
    )
    spec = ClusterSpec(
        display_name=name,
        endpoint=f"https://{name}.example.com:6443",
        credentials_ref={"name": name, "namespace": "default"},
        labels={"env": "prod"},
        monitoring={"interval": 30, "timeout": 10},
    )
    totals = sum_nodes(nodes, tally, namespaces=NAMESPACES, deployments=20, now=text)
    await state.commit(
        [
            *cluster_writes.plan_spec(name, spec),
            *cluster_writes.plan_status(name, health="healthy", message="ok", at=now),
            *cluster_writes.plan_info(name, {"version": "v1.32.4", "api_url": "x"}, TTLS),
            *cluster_writes.plan_totals(name, totals, TTLS),
            *cluster_writes.plan_namespaces(name, spaces, now=text, ttls=TTLS),
            *cluster_writes.plan_nodes(name, nodes, before=frozenset(), at=now, ttls=TTLS),
            *cluster_writes.plan_resources(name, ResourceLists(pods=pods), now=text, ttls=TTLS),
        ]
    )


async def _run(count: int, interval_s: float) -> None:
    clock = SystemClock()
    state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
    names = [f"cluster-{number:04}" for number in range(count)]
    for name in names:
        await write_cluster(state, name, clock.now())
    policy = compile_policy(_policy(), name="p", namespace="hub", compiled_at="", hash_="1")
    writes = policy_writes.plan_policy(
        policy, before=None, status={}, at=clock.now(), event="compiled"
    )
    await state.commit(list(writes))
    hub = HubServer(state, history, Authenticator(tokens=TOKENS), clock=clock)

    async def collect() -> None:
        while True:
            for name in names:
                await write_cluster(state, name, clock.now())
                await asyncio.sleep(interval_s / count)

    async with contextlib.AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(Supervisor("bench"))
        tasks.spawn(hub.run(), name="hub")
        server = await stack.enter_async_context(http.Server(hub.handle, clock=clock))
        listener = await server.listen("127.0.0.1", 0)
        tune_gc()
        tasks.spawn(collect(), name="collect")
        print(listener.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    count, interval_s = int(sys.argv[1]), float(sys.argv[2])
    try:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(count, interval_s))
    except ImportError:
        asyncio.run(_run(count, interval_s))


if __name__ == "__main__":
    main()
