"""OpenTelemetry agents: OpAMP over HTTP, and configurations as files."""

import contextlib
import gzip
import threading
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet import collectors, opamp
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.telemetry.fleet import protobuf

TOKEN = "agent-token"
UID = uuid.UUID(int=7)
OTEL = """\
receivers: {otlp: {protocols: {grpc: {}}}}
exporters: {debug: {}}
service: {pipelines: {logs/web: {receivers: [otlp], exporters: [debug]}}}
"""
STATUS = {"APPLIED": 1, "FAILED": 3}


class Agent:
    """An agent that talks OpAMP."""

    def __init__(self, client: http.Client, url: str) -> None:
        self._client = client
        self.url = url

    async def send(self, *, status: str = "", hash_: bytes = b"", **more: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"instanceUid": UID.bytes, "capabilities": 2, **more}
        if status:
            name = f"RemoteConfigStatuses_{status}"
            message["remoteConfigStatus"] = {"lastRemoteConfigHash": hash_, "status": name}
        body = gzip.compress(protobuf.encode("opamp.AgentToServer", message))
        headers = [("content-type", "application/x-protobuf"), ("content-encoding", "gzip")]
        status_, data = await self.call("POST", "/v1/opamp", headers, body)
        assert status_ == 200, data
        return protobuf.decode("opamp.ServerToAgent", data)

    async def call(
        self,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes | None = None,
        token: str = TOKEN,
    ) -> tuple[int, bytes]:
        fields = [("authorization", f"Bearer {token}"), *headers]
        response = await self._client.request(
            method, f"{self.url}{target}", headers=fields, body=body
        )
        async with response:
            return response.status, await response.read(1 << 20)


def describe(**attributes: str) -> dict[str, Any]:
    entries = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"identifyingAttributes": entries}


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[FleetServer, Agent]]:
    fleet = FleetServer(open_memory(), Tokens.single(Secret(TOKEN)))
    message = {
        "name": "web",
        "contents": OTEL,
        "matchers": ["env=prod"],
        "configType": "CONFIG_TYPE_OTEL",
    }
    fleet.pipelines.store(fleet.pipelines.plan_create(message, "2026-01-01T00:00:00Z"), "now")
    server = http.Server(fleet.handle)
    listener = await server.listen("127.0.0.1", 0)
    async with http.Client() as client:
        try:
            yield fleet, Agent(client, listener.url)
        finally:
            await server.close()


async def test_an_agent_registers_receives_and_reports() -> None:
    async with serving() as (fleet, agent):
        asked = await agent.send()
        assert asked["flags"] == 1  # tell everything: we know nothing of it
        attributes = {"service.name": "otelcol", "env": "prod", "os.type": "linux"}
        first = await agent.send(agentDescription=describe(**attributes))
        offered = first["remoteConfig"]
        file = offered["config"]["configMap"]["fleet.yaml"]
        assert b"logs/web" in file["body"] and file["contentType"] == "text/yaml"
        collector = fleet.collectors.get(str(UID))
        assert collector.collector_type == "COLLECTOR_TYPE_OTEL"
        assert collector.local_attributes["collector.os"] == "linux"
        after = await agent.send(status="APPLIED", hash_=offered["configHash"])
        assert "remoteConfig" not in after
        assert fleet.collectors.get(str(UID)).status == "APPLIED"
        await agent.send(status="FAILED", hash_=offered["configHash"])
        assert fleet.collectors.get(str(UID)).status == "FAILED"
        await agent.send(agentDisconnect={})
        assert fleet.collectors.get(str(UID)).marked_inactive_at


async def test_a_change_is_offered_with_the_next_poll() -> None:
    async with serving() as (fleet, agent):
        first = await agent.send(agentDescription=describe(env="prod"))
        old = first["remoteConfig"]["configHash"]
        message = {
            "id": "1",
            "name": "web",
            "contents": OTEL.replace("logs/web", "logs/new"),
            "matchers": ["env=prod"],
            "configType": "CONFIG_TYPE_OTEL",
        }
        fleet.pipelines.store(fleet.pipelines.plan_update(message, "now"), "now")
        after = await agent.send(status="APPLIED", hash_=old)
        body = after["remoteConfig"]["config"]["configMap"]["fleet.yaml"]["body"]
        assert b"logs/new" in body


async def test_an_unknown_agent_may_leave_and_flags_become_text() -> None:
    async with serving() as (fleet, agent):
        assert "flags" not in await agent.send(agentDisconnect={})
        assert fleet.collectors.find(str(UID)) is None
        entries = [
            {"key": "spot", "value": {"boolValue": True}},
            {"key": "edge", "value": {"boolValue": False}},
            {"key": "cores", "value": {"intValue": 4}},
        ]
        await agent.send(agentDescription={"nonIdentifyingAttributes": entries})
        found = fleet.collectors.get(str(UID)).local_attributes
        assert (found["spot"], found["edge"], found["cores"]) == ("true", "false", "4")


async def test_agent_that_starts_anew_is_offered_its_configuration_again() -> None:
    async with serving() as (_, agent):
        description = describe(env="prod")
        first = await agent.send(agentDescription=description)
        assert "remoteConfig" not in await agent.send()  # nothing has changed since
        again = await agent.send(agentDescription=description)
        assert again["remoteConfig"] == first["remoteConfig"]


async def test_lost_messages_make_the_agent_tell_everything_again() -> None:
    async with serving() as (_, agent):
        description = describe(env="prod")
        assert "flags" not in await agent.send(sequenceNum=0, agentDescription=description)
        assert "flags" not in await agent.send(sequenceNum=1)
        assert "flags" not in await agent.send(sequenceNum=4, agentDescription=description)
        assert "flags" not in await agent.send(sequenceNum=5)
        assert (await agent.send(sequenceNum=7))["flags"] == 1
        assert "flags" not in await agent.send(sequenceNum=8, agentDescription=description)
        assert "flags" not in await agent.send(sequenceNum=9)
        assert "flags" not in await agent.send()  # it does not number its messages


async def test_agent_that_asks_for_an_identity_gets_a_new_one() -> None:
    async with serving() as (fleet, agent):
        answer = await agent.send(flags=1, agentDescription=describe(env="prod"))
        identity = answer["agentIdentification"]["newInstanceUid"]
        assert len(identity) == 16 and identity != UID.bytes
        assert fleet.collectors.find(str(UID)) is None


async def test_negative_numbers_of_a_description_stay_negative() -> None:
    async with serving() as (fleet, agent):
        entries = [{"key": "offset", "value": {"intValue": (1 << 64) - 3}}]
        await agent.send(agentDescription={"nonIdentifyingAttributes": entries})
        assert fleet.collectors.get(str(UID)).local_attributes["offset"] == "-3"


async def test_bad_messages_and_strangers_are_refused() -> None:
    async with serving() as (_, agent):
        proto = [("content-type", "application/x-protobuf")]
        assert (await agent.call("POST", "/v1/opamp", proto, b"\xff"))[0] == 400
        assert (await agent.call("POST", "/v1/opamp", proto, b""))[0] == 400
        assert (await agent.call("POST", "/v1/opamp", [], b""))[0] == 415
        assert (await agent.call("POST", "/v1/opamp", proto, b"", token="x"))[0] == 401
        assert (await agent.call("GET", "/otel/config?id=a", [], token="x"))[0] == 401


async def test_large_messages_are_refused_or_read_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []
    plain = protobuf.decode

    def decode(kind: str, data: bytes, **more: Any) -> dict[str, Any]:
        if kind == "opamp.AgentToServer":
            threads.append(threading.get_ident())
        return plain(kind, data, **more)

    async with serving() as (_, agent):
        proto = [("content-type", "application/x-protobuf")]
        huge = gzip.compress(bytes(opamp.MAX_MESSAGE + 1))
        for headers, body in (
            (proto, bytes(opamp.MAX_MESSAGE + 1)),
            ([*proto, ("content-encoding", "gzip")], huge),
        ):
            assert (await agent.call("POST", "/v1/opamp", headers, body))[0] in (400, 413, 429)
        monkeypatch.setattr(protobuf, "decode", decode)
        large = {f"attribute-{number}": "v" * 500 for number in range(100)}
        await agent.send(agentDescription=describe(env="prod", **large))
        await agent.send(agentDescription=describe(env="prod"))
    here = threading.get_ident()
    assert [each == here for each in threads] == [False, True]


async def test_a_configuration_can_be_read_as_a_file() -> None:
    async with serving() as (fleet, agent):
        status, data = await agent.call("GET", "/otel/config?id=edge-9&attr.env=prod", [])
        assert status == 200 and b"logs/web" in data
        collector = fleet.collectors.get("edge-9")
        assert collector.collector_type == "COLLECTOR_TYPE_OTEL"
        tag = f'"{collector.served_hash}"'
        again = await agent.call(
            "GET", "/otel/config?id=edge-9&attr.env=prod", [("if-none-match", tag)]
        )
        assert again == (304, b"")
        status, data = await agent.call("GET", "/alloy/config?id=edge-8&attr.env=prod", [])
        assert status == 200 and data.startswith(b"// fleet: 0 pipelines")
        assert (await agent.call("GET", "/otel/config", []))[0] == 400
        many = "".join(f"&attr.{number}=x" for number in range(108))
        status, data = await agent.call("GET", f"/otel/config?id=edge-9{many}", [])
        assert status == 400 and b"at most 108 parameters" in data


async def test_a_file_for_one_collector_too_many_is_refused_and_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as (fleet, agent):
        monkeypatch.setattr(collectors, "MAX_COLLECTORS", 1)
        assert (await agent.call("GET", "/otel/config?id=edge-1", []))[0] == 200
        for number in range(2, 5):
            assert (await agent.call("GET", f"/otel/config?id=edge-{number}", []))[0] == 429
        assert list(fleet.configs._kept) == ["edge-1"]


async def test_collectors_of_both_kinds_without_a_pipeline_get_their_own_language() -> None:
    async with serving() as (_, agent):
        _, otel = await agent.call("GET", "/otel/config?id=edge-1", [])
        _, alloy = await agent.call("GET", "/alloy/config?id=edge-2", [])
        assert (otel, alloy) == (b"# fleet: 0 pipelines\n", b"// fleet: 0 pipelines\n")
