"""History through the hub API: the embedded history and VictoriaMetrics give the same answers."""

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.hubstate import cluster_writes, series, source_writes
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.ports import History, Sample
from quarterdeck.hubstate.source_writes import SourceHead
from quarterdeck.hubstate.victoriametrics.history import VictoriaMetrics
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.services.hub.identity import Authenticator
from quarterdeck.services.hub.service import HubServer
from quarterdeck.testing import programs

ROOT = {"token": Principal(username="root", groups=("system:masters",))}
CLUSTERS = ("prod-east", "prod.west", "prodxwest")


def samples(end: datetime) -> list[Sample]:
    found = []
    for minute in range(60):
        at = end - timedelta(minutes=59 - minute, seconds=30)
        for number, name in enumerate(CLUSTERS):
            labels = (("cluster", name),)
            value = float(minute * (number + 1))
            found.append(Sample("clusterpulse_cluster_pods_total", labels, value, at))
            found.append(Sample("clusterpulse_cluster_cpu_capacity", labels, value / 8 + 0.1, at))
            for node in ("n-1", 'odd"} or {\\'):
                node_labels = (*labels, ("node", node))
                found.append(
                    Sample("clusterpulse_node_cpu_usage_percent", node_labels, value / 3, at)
                )
            values: dict[str, Any] = {
                "total": minute + number,
                "by_class": {"fast": minute, 'sl"ow\\': 2 * minute},
            }
            found += series.build_aggregation_samples(name, "hub/claims", values, at)
            for operator in ("dns", "etcd"):
                state = float(minute % 7 != number)
                found.append(
                    Sample(
                        f"clusterpulse_cluster_operator_{series.STATES[0]}",
                        (*labels, ("operator", operator)),
                        state,
                        at,
                    )
                )
    return found


QUERIES = [
    "/clusters/prod-east/metrics/history?metric=pods_total",
    "/clusters/prod.west/metrics/history?metric=cpu_capacity&range=30m&step=5m&agg=max",
    "/clusters/prod.west/metrics/history?metric=pods_total&range=45m&step=90s&agg=min",
    "/clusters/prod-east/metrics/history?metric=pods_total&range=40m&step=2m&agg=last",
    "/clusters/prod-east/nodes/n-1/metrics/history?metric=cpu_usage_percent&step=10m",
    "/clusters/prod-east/nodes/odd%22%7D%20or%20%7B%5C/metrics/history?metric=cpu_usage_percent",
    "/clusters/prod-east/operators/metrics/history?metric=available&step=7m&agg=min",
    "/metrics/history?metric=pods_total&step=4m",
    "/metrics/history?metric=pods_total&cluster=prod.west&cluster=prod-east&step=4m",
    "/clusters/prod-east/metrics/history?metric=nodes_total",
    "/clusters/prod-east/custom-resources/claims/metrics/history?metric=total&step=5m",
    "/clusters/prod.west/custom-resources/hub%2Fclaims/metrics/history?metric=by_class&step=5m",
]
DEFINITION = {
    "name": "claims",
    "namespace": "hub",
    "source": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
    "fields": [{"name": "size", "path": ".spec.size"}],
    "aggregations": [
        {"name": "total", "function": "count"},
        {"name": "by_class", "function": "count", "groupBy": "size"},
    ],
    "rbac": {"resourceTypeName": "claims"},
}
HEAD = SourceHead(
    compiled_at="2026-05-01T00:00:00Z",
    hash="1",
    kind="PersistentVolumeClaim",
    api_version="v1",
    resource_type_name="claims",
)


@pytest.fixture
def victoria_metrics(tmp_path: Path) -> Iterator[int]:
    """The port of a server."""
    port = programs.find_free_port()
    command = [
        programs.require("victoria-metrics"),
        f"-storageDataPath={tmp_path / 'vm'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-search.latencyOffset=0s",
        "-memory.allowedBytes=64MB",
    ]
    with programs.run_program(command, port=port, folder=tmp_path):
        yield port


async def test_both_histories_give_the_same_answers(victoria_metrics: int) -> None:
    clock = SystemClock()
    end = clock.now().replace(second=0, microsecond=0)
    async with contextlib.AsyncExitStack() as stack:
        embedded = open_history(None, clock=clock)
        stack.push_async_callback(embedded.aclose)
        remote = VictoriaMetrics(f"http://127.0.0.1:{victoria_metrics}", clock=clock)
        stack.push_async_callback(remote.aclose)
        state = open_embedded(None, clock=clock)
        stack.push_async_callback(state.aclose)
        for name in CLUSTERS:
            writes = cluster_writes.plan_status(name, health="healthy", message="", at=end)
            await state.commit(list(writes))
        source = source_writes.plan_definition(
            "hub", "claims", definition=DEFINITION, head=HEAD, before=""
        )
        await state.commit(list(source))
        for history in _list(embedded, remote):
            await history.write(samples(end))
        await _flush(victoria_metrics)
        hubs = [
            HubServer(state, each, Authenticator(tokens=ROOT), clock=clock)
            for each in _list(embedded, remote)
        ]
        for query in QUERIES:
            path = f"/api/v1{query}&end={int(end.timestamp())}"
            first, second = [await _ask(hub, path) for hub in hubs]
            assert first == second, query
            assert first["data"]["result"] or "nodes_total" in query, query


def _list(*histories: History) -> tuple[History, ...]:
    return histories


async def _ask(hub: HubServer, path: str) -> Any:
    request = http.Request.of("GET", path, headers=[("Authorization", "Bearer token")])
    answer = await hub.handle(request)
    assert isinstance(answer, http.Response)
    assert answer.status == 200, answer.body
    return _rounded(json.decode(answer.body))


def _rounded(answer: Any) -> Any:
    """Sums of floats may differ in their last digits."""
    for each in answer["data"]["result"]:
        each["values"] = [[at, f"{float(value):.9g}"] for at, value in each["values"]]
    return answer


async def _flush(port: int) -> None:
    async with http.Client() as client:
        await (await client.request("GET", f"http://127.0.0.1:{port}/internal/force_flush")).read()
