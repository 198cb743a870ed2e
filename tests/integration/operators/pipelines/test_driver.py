"""The client speaks every RPC of both services, to the server over a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.ports import CallFailed
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.fleet.messages import SERVICES

CONTENTS = 'prometheus.scrape "x" {\n  targets = []\n}\n'


@asynccontextmanager
async def connected() -> AsyncIterator[ConnectClient]:
    store, clock = open_memory(), SystemClock()
    fleet = FleetServer(store, Tokens.single(Secret("t")))
    server = http.Server(fleet.handle)
    listener = await server.listen("127.0.0.1", 0)
    try:
        async with http.Client() as client:
            yield ConnectClient(
                f"http://127.0.0.1:{listener.port}",
                username="1",
                password=Secret("t"),
                client=client,
                limiter=Limiter(1000.0, 1000, clock=clock),
                clock=clock,
            )
    finally:
        await server.close()
        await store.close()


async def test_every_rpc_of_both_services_answers() -> None:
    source = {"type": "SOURCE_TYPE_GIT", "namespace": "r"}
    pipeline: dict[str, Any] = {"name": "p", "contents": CONTENTS, "matchers": ["env=prod"]}
    operation = {"op": "ADD", "path": "/remote_attributes/env", "value": "prod"}
    script: list[tuple[str, dict[str, Any]]] = [
        ("CreatePipeline", {"pipeline": pipeline}),
        ("UpsertPipeline", {"pipeline": pipeline}),
        ("UpdatePipeline", {"pipeline": {**pipeline, "id": "1", "enabled": False}}),
        ("GetPipeline", {"id": "1"}),
        ("GetPipelineID", {"name": "p"}),
        ("ListPipelines", {}),
        ("ListPipelinesRevisions", {}),
        ("ListPipelineRevisions", {"id": "1"}),
        ("GetPipelineRevision", {"revisionId": "1"}),
        ("SyncPipelines", {"source": source, "pipelines": [{**pipeline, "name": "q"}]}),
        ("BulkDeletePipelines", {"ids": ["2"]}),
        ("DeletePipeline", {"id": "1"}),
        ("RegisterCollector", {"id": "a", "name": "A"}),
        ("GetConfig", {"id": "a"}),
        ("GetCollector", {"id": "a"}),
        ("ListCollectors", {"matchers": ["collector.ID=a"]}),
        ("CreateCollector", {"collector": {"id": "b"}}),
        ("UpdateCollector", {"collector": {"id": "b", "name": "B"}}),
        ("BulkUpdateCollectors", {"ids": ["a", "b"], "ops": [operation]}),
        ("ListCollectorAttributes", {}),
        ("ListDeliveries", {}),
        ("ListCollectorStates", {}),
        ("UnregisterCollector", {"id": "a"}),
        ("DeleteCollector", {"id": "a"}),
        ("BulkDeleteCollectors", {"ids": ["b"]}),
    ]
    assert {name for name, _ in script} == {name for each in SERVICES.values() for name in each}
    async with connected() as fleet:
        answers = {name: await fleet.call(name, message) for name, message in script}
    assert answers["GetPipelineID"] == {"id": "1"}
    assert answers["ListCollectors"]["collectors"][0]["name"] == "A"
    values = answers["ListCollectorAttributes"]["remoteAttributes"]["env"]["values"]
    assert values == [{"value": "prod"}]


async def test_a_failure_carries_connects_code() -> None:
    async with connected() as fleet:
        with pytest.raises(CallFailed) as caught:
            await fleet.call("GetCollector", {"id": "nobody"})
    assert caught.value.code is Code.NOT_FOUND
