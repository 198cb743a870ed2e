"""A hub with three clusters, a MetricSource and policies, in memory."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicySpec
from quarterdeck.engine import (
    AggregationResults,
    CollectionMeta,
    ResourceCollection,
    compile_source,
)
from quarterdeck.engine.results import Resource
from quarterdeck.hubstate import cluster_writes, policy_writes, series, source_writes
from quarterdeck.hubstate.cluster_writes import ClusterSpec, ClusterTtls
from quarterdeck.hubstate.embedded.history import EmbeddedHistory, open_history
from quarterdeck.hubstate.embedded.state import EmbeddedState, open_embedded
from quarterdeck.hubstate.notices import plan_notice
from quarterdeck.hubstate.source_writes import SourceHead
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.cluster import sum_nodes
from quarterdeck.inventory.nodes import NodeCondition, NodeFacts, PodTally
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.policy import compile_policy
from quarterdeck.inventory.resources import PodSummary, ResourceLists
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.http import Peer, Request, Response
from quarterdeck.services.hub.identity import Authenticator, ProxyHeaders, parse_networks
from quarterdeck.services.hub.service import HubServer

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TTLS = ClusterTtls(interval_s=60, cache_s=600, scan_s=600, retention_s=3600)
TOKENS = {
    "root-token": Principal(username="root", groups=("system:masters",)),
    "alice-token": Principal(username="alice", email="alice@example.com", groups=("dev",)),
    "bob-token": Principal(username="bob"),
}
PROXY = Peer("10.1.2.3:40000")
ROWS = (("app-a", "one", 10), ("app-a", "two", 20), ("secret", "three", 70))
SOURCE = {
    "source": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
    "fields": [{"name": "size", "path": ".spec.size", "type": "integer"}],
    "aggregations": [
        {"name": "total", "field": "size", "function": "sum"},
        {"name": "objects", "function": "count"},
        {"name": "largest", "field": "size", "function": "max"},
    ],
    "rbac": {"resourceTypeName": "pvc"},
}


class Reply(msgspec.Struct, frozen=True):
    """An answer, decoded."""

    status: int
    headers: Mapping[str, str]
    body: Any


class World:
    """The hub and what it reads."""

    def __init__(self, state: EmbeddedState, history: EmbeddedHistory, clock: VirtualClock) -> None:
        self.state = state
        self.history = history
        self.clock = clock
        self.hub = self.server()

    def server(self, **more: Any) -> HubServer:
        proxy = ProxyHeaders(trusted=parse_networks("10.0.0.0/8"))
        authenticator = more.pop("authenticator", None) or Authenticator(
            tokens=TOKENS, proxy=proxy, allows_anonymous=more.pop("anonymous", False)
        )
        return HubServer(self.state, self.history, authenticator, clock=self.clock, **more)

    async def ask(
        self,
        path: str,
        who: str = "",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        peer: Peer | None = None,
    ) -> Reply:
        given = dict(headers or {})
        if who:
            given["Authorization"] = f"Bearer {who}-token"
        target = path if not path.startswith("api:") else f"/api/v1{path[4:]}"
        request = Request.of(method, target, headers=list(given.items()), peer=peer)
        answer = await self.hub.handle(request)
        assert isinstance(answer, Response)
        found = {name.lower(): value for name, value in answer.headers}
        return Reply(answer.status, found, json.decode(answer.body) if answer.body else None)

    async def get(self, path: str, who: str = "") -> Any:
        reply = await self.ask(f"api:{path}", who)
        assert reply.status == 200, reply
        return reply.body

    async def refuse(self, path: str, who: str = "", status: int = 403) -> str:
        reply = await self.ask(f"api:{path}", who)
        assert reply.status == status, reply
        return str(reply.body["error"])

    async def policy(self, name: str, **spec: Any) -> None:
        """Store a policy; rules are given as `rules`."""
        document = {
            "identity": {
                "subjects": spec.get("subjects", {"users": ["alice"]}),
                "priority": spec.get("priority", 100),
            },
            "access": {"effect": spec.get("effect", "Allow")},
            "scope": {
                "clusters": {
                    "default": spec.get("default", "none"),
                    "rules": spec.get("rules", []),
                }
            },
        }
        typed = msgspec.convert(document, MonitorAccessPolicySpec)
        compiled = compile_policy(typed, name=name, namespace="hub", compiled_at="", hash_=name)
        writes = policy_writes.plan_policy(
            compiled, before=None, status={}, at=self.clock.now(), event="compiled"
        )
        await self.state.commit(list(writes))
        await self.hub.policies.refresh()

    async def cluster(self, name: str, **labels: str) -> None:
        """Store a cluster with three nodes, two operators and four namespaces."""
        now = self.clock.now()
        text = rfc3339.format_time(now)
        spec = ClusterSpec(
            display_name=name.title(),
            endpoint=f"https://{name}.example.com:6443",
            credentials_ref={"name": f"{name}-token", "namespace": "hub"},
            labels=labels,
            monitoring={"interval": 60, "timeout": 10},
        )
        nodes = [_node(f"{name}-{index}", index, text) for index in range(3)]
        spaces = ["app-a", "app-internal", "default", "secret"]
        tally = PodTally()
        tally.total, tally.running = 30, 27
        totals = sum_nodes(nodes, tally, namespaces=4, deployments=5, now=text)
        lists = ResourceLists(
            pods=(
                *(_pod("app-a", index, f"{name}-1") for index in range(3)),
                _pod("secret", 9, f"{name}-1"),
            )
        )
        operators = [_operator("everywhere", ("*",)), _operator("local", ("secret",))]
        await self.state.commit(
            [
                *cluster_writes.plan_spec(name, spec),
                *cluster_writes.plan_status(name, health="healthy", message="ok", at=now),
                *cluster_writes.plan_info(name, {"version": "v1.32.0"}, TTLS),
                *cluster_writes.plan_totals(name, totals, TTLS),
                *cluster_writes.plan_namespaces(name, spaces, now=text, ttls=TTLS),
                *cluster_writes.plan_nodes(name, nodes, before=frozenset(), at=now, ttls=TTLS),
                *cluster_writes.plan_operators(name, operators, TTLS),
                *cluster_writes.plan_resources(name, lists, now=text, ttls=TTLS),
                *plan_notice("cluster.reconciled", name, now, {"health": "healthy"}),
            ]
        )
        await self.history.write(
            [
                *series.build_cluster_samples(name, totals, now - timedelta(minutes=1)),
                *series.build_node_samples(name, nodes, now - timedelta(minutes=1)),
            ]
        )

    async def source(self, *clusters: str, **more: Any) -> None:
        """Store the MetricSource, with more in its spec, and what it collected."""
        spec = msgspec.convert(SOURCE | more, MetricSourceSpec)
        source, text = compile_source(spec), rfc3339.format_time(self.clock.now())
        head = SourceHead(
            compiled_at=text,
            hash=source.hash,
            kind="PersistentVolumeClaim",
            api_version="v1",
            resource_type_name="pvc",
        )
        definition = source.definition(
            name="pvc", namespace="hub", resource="persistentvolumeclaims", compiled_at=text
        )
        rows = [
            Resource(id=f"{space}/{name}", namespace=space, name=name, values={"size": size})
            for space, name, size in ROWS
        ]
        values = source.aggregate(rows)
        writes = [
            *source_writes.plan_definition(
                "hub", "pvc", definition=definition, head=head, before=""
            )
        ]
        for cluster in clusters:
            identity = {"source_id": "hub/pvc"}
            writes += source_writes.plan_collection(
                ResourceCollection(
                    **identity,
                    collected_at=text,
                    cluster_name=cluster,
                    resource_count=3,
                    truncated=False,
                    duration_ms=5,
                    resources=rows,
                ),
                AggregationResults(**identity, computed_at=text, duration_ms=1, values=values),
                CollectionMeta(
                    **identity,
                    cluster_name=cluster,
                    last_collection_time=text,
                    duration_ms=5,
                    resource_count=3,
                    truncated=False,
                    error_count=0,
                ),
                ttl_s=600,
            )
            at = self.clock.now() - timedelta(minutes=1)
            await self.history.write(
                list(series.build_aggregation_samples(cluster, "hub/pvc", values, at))
            )
        await self.state.commit(writes)


def _node(name: str, index: int, now: str) -> NodeFacts:
    is_ready = index != 2
    condition = NodeCondition("Ready", "True" if is_ready else "False", "Kubelet", "why", now)
    return NodeFacts(
        name=name,
        timestamp=now,
        status="Ready" if is_ready else "NotReady",
        roles=("control-plane",) if index == 0 else ("worker",),
        conditions=(condition,),
        cpu_capacity=4.0,
        memory_capacity=1024,
        pods_running=9,
        pods_succeeded=1,
        pods_total=10,
        labels={"pool": "blue" if index else "red"},
    )


def _pod(namespace: str, index: int, node: str) -> PodSummary:
    return PodSummary(name=f"pod-{index}", namespace=namespace, status="Running", node=node)


def _operator(name: str, reach: tuple[str, ...]) -> OperatorFacts:
    return OperatorFacts(
        name=name,
        display_name=name,
        version="1.0.0",
        status="Succeeded",
        namespace="operators",
        installed_namespace="operators",
        install_modes=(),
        install_mode="AllNamespaces",
        provider="",
        created_at="",
        updated_at="",
        is_cluster_wide=reach == ("*",),
        available_in_namespaces=reach,
        available_count=1,
        available_namespaces_detail="",
    )


@contextlib.asynccontextmanager
async def open_world() -> AsyncIterator[World]:
    """The hub, for as long as a test needs it."""
    clock = VirtualClock(start=NOW)
    async with contextlib.AsyncExitStack() as stack:
        state = open_embedded(None, clock=clock)
        stack.push_async_callback(state.aclose)
        history = open_history(None, clock=clock)
        stack.push_async_callback(history.aclose)
        world = World(state, history, clock)
        await world.cluster("prod-east", env="prod")
        await world.cluster("prod-west", env="prod")
        await world.cluster("dev-1", env="dev")
        await world.source("prod-east", "dev-1")
        yield world


@pytest.fixture
def world() -> Callable[[], contextlib.AbstractAsyncContextManager[World]]:
    """Opens the hub inside the test's own task."""
    return open_world
