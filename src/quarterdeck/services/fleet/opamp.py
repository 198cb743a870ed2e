"""OpAMP: OpenTelemetry agents report their state and receive their configuration.

Independent of the transport: one message of an agent in, one of the server out. Agents poll over
plain HTTP, or exchange the same messages over a WebSocket.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.errors import invalid
from quarterdeck.services.fleet.records import Collector
from quarterdeck.services.fleet.reports import Reports
from quarterdeck.telemetry.fleet import opamp, protobuf
from quarterdeck.telemetry.merge import Merged

OTEL = "COLLECTOR_TYPE_OTEL"
PATH = "/v1/opamp"
MEDIA = "application/x-protobuf"
CONFIG_NAME = "fleet.yaml"
MAX_ATTRIBUTES = 100
MAX_MESSAGE = 4 * 1024 * 1024
"""Largest message in bytes: it has the agent's description and the configuration it runs."""
MAX_NUMBERED = 100_000
"""Agents whose last sequence number is kept; a dropped agent must report its full state again."""
_LARGE_BYTES = 32 * 1024
_LARGE_AT_ONCE = 2
"""Large messages that are decoded at once, so that they do not use all threads."""
_ALIASES = {"os.type": "collector.os", "service.version": "collector.version"}
"""OpenTelemetry attributes, and the names that matchers use for them."""


class OpampCalls:
    """Answers the messages of agents."""

    def __init__(
        self,
        collectors: Collectors,
        configs: Configs,
        *,
        reports: Reports,
        now: Callable[[], str],
    ) -> None:
        self._collectors = collectors
        self._configs = configs
        self._reports = reports
        self._now = now
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._sequences: dict[str, int] = {}
        """Number of the last message of each agent."""

    async def answer(self, data: bytes) -> bytes:
        """The answer to one message.

        Raises:
            FleetError: `invalid_argument` if it is not a message of an agent.
        """
        return await self.answer_message(await self.read(data))

    async def read(self, data: bytes) -> Mapping[str, Any]:
        """Read a message; a large one in a thread, because it takes seconds.

        Raises:
            FleetError: `invalid_argument` if it is not a message of an agent.
        """
        try:
            if len(data) > _LARGE_BYTES:
                async with self._large:
                    message = await asyncio.to_thread(protobuf.decode, "opamp.AgentToServer", data)
            else:
                message = protobuf.decode("opamp.AgentToServer", data)
        except ProtobufError as error:
            raise invalid(str(error)) from error
        uid = message.get("instanceUid") or b""
        if len(uid) != 16:
            raise invalid(f"instance_uid must have 16 bytes, has {len(uid)}")
        return message

    async def answer_message(self, message: Mapping[str, Any]) -> bytes:
        """Answer a decoded message."""
        answer = await self._answer(message["instanceUid"], message)
        return protobuf.encode("opamp.ServerToAgent", answer)

    def identify(self, message: Mapping[str, Any], *, accepts: bool) -> tuple[str, bool]:
        """The id of the sender of a message, and whether it accepts configurations."""
        capabilities = message.get("capabilities")
        if capabilities is not None:
            accepts = bool(capabilities & opamp.ACCEPTS_REMOTE_CONFIG)
        return str(uuid.UUID(bytes=message["instanceUid"])), accepts

    def find_served(self, identity: str) -> str:
        """The hash of the configuration that an agent was served last; empty if none was."""
        collector = self._collectors.find(identity)
        return collector.served_hash if collector is not None else ""

    def listen(self, identity: str, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` when attributes or the switch of an agent change; returns how to end."""
        return self._collectors.listen(identity, notify)

    def record_contact(self, identity: str) -> None:
        """Record that a connected agent was heard, also without a message; not if it has left."""
        collector = self._collectors.find(identity)
        if collector is not None and not collector.marked_inactive_at:
            self._reports.add(msgspec.structs.replace(collector, last_seen=self._now()))

    def offer(self, identity: uuid.UUID, *, sent: str) -> bytes | None:
        """The configuration of an agent, unless it is the one that was sent before.

        `sent` is the hash that this connection has sent: an offer on a dead connection must not
        suppress the offer on another one.
        """
        collector = self._collectors.find(str(identity))
        if collector is None:
            return None
        merged, parts = self._configs.get_config(collector)
        if merged.hash == sent:
            return None
        self._reports.add(rules.record_served(collector, merged.hash, parts))
        message = {
            "instanceUid": identity.bytes,
            "capabilities": opamp.SERVER_CAPABILITIES,
            **_build_offer(merged),
        }
        return protobuf.encode("opamp.ServerToAgent", message)

    async def _answer(self, uid: bytes, message: Mapping[str, Any]) -> dict[str, Any]:
        identity = str(uuid.UUID(bytes=uid))
        answer: dict[str, Any] = {"instanceUid": uid, "capabilities": opamp.SERVER_CAPABILITIES}
        if message.get("flags", 0) & opamp.REQUEST_INSTANCE_UID:
            return {**answer, "agentIdentification": {"newInstanceUid": uuid.uuid4().bytes}}
        current = self._collectors.find(identity)
        if "agentDisconnect" in message:
            self._sequences.pop(identity, None)
            if current is not None:
                left = msgspec.structs.replace(current, marked_inactive_at=self._now())
                await self._reports.write(left)
            return answer
        if current is None and "agentDescription" not in message:
            return {**answer, "flags": opamp.REPORT_FULL_STATE}
        if self._has_missed(identity, message):
            answer["flags"] = opamp.REPORT_FULL_STATE
        collector = self._build_record(identity, current, message)
        if message.get("capabilities", 0) & opamp.ACCEPTS_REMOTE_CONFIG:
            collector, offer = self._offer(collector, message)
            answer |= offer
        if current is None:
            await self._reports.write(collector)  # what others set meanwhile must stay
        else:
            self._reports.add(collector)
        return answer

    def _has_missed(self, identity: str, message: Mapping[str, Any]) -> bool:
        """Whether earlier messages were lost, so that the agent must report its full state.

        Agents leave out what has not changed since their last message. They count from 0 or 1;
        agents that do not number their messages are not checked.
        """
        number = message.get("sequenceNum", 0)
        last = self._sequences.get(identity)
        self._sequences[identity] = number
        if len(self._sequences) > MAX_NUMBERED:
            del self._sequences[next(iter(self._sequences))]
        is_next = last is not None and number == last + 1
        return bool(number) and not is_next and "agentDescription" not in message

    def _build_record(
        self, identity: str, current: Collector | None, message: Mapping[str, Any]
    ) -> Collector:
        """The record with the attributes and the configuration status that the agent reports."""
        report = message.get("remoteConfigStatus") or {}
        attributes = _read_attributes(message.get("agentDescription") or {})
        request: dict[str, Any] = {
            "id": identity,
            "localAttributes": attributes,
            "hash": bytes(report.get("lastRemoteConfigHash") or b"").decode("ascii", "replace"),
            "remoteConfigStatus": report,
        }
        if current is None:
            name = attributes.get("service.name", "")
            made = rules.register_collector(None, {**request, "name": name}, self._now())
            collector = msgspec.structs.replace(made, collector_type=OTEL)
            self._collectors.put(collector)  # refused if it is one too many
            return collector
        return rules.record_poll(current, request, self._now())

    def _offer(
        self, collector: Collector, message: Mapping[str, Any]
    ) -> tuple[Collector, dict[str, Any]]:
        """The configuration, unless the agent has it, and the record of what it is served."""
        merged, parts = self._configs.get_config(collector)
        served = collector
        if collector.served_hash != merged.hash or collector.served != parts:
            served = rules.record_served(collector, merged.hash, parts)
        known = (message.get("remoteConfigStatus") or {}).get("lastRemoteConfigHash") or b""
        if bytes(known) == merged.hash.encode():
            return served, {}
        is_served = collector.served_hash == merged.hash and collector.status != ""
        if not known and is_served and "agentDescription" not in message:
            return served, {}  # it left out what has not changed
        return served, _build_offer(merged)


def _build_offer(merged: Merged) -> dict[str, Any]:
    file = {"body": merged.content.encode(), "contentType": "text/yaml"}
    config = {"configMap": {CONFIG_NAME: file}}
    return {"remoteConfig": {"config": config, "configHash": merged.hash.encode()}}


def _read_attributes(description: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("identifyingAttributes", "nonIdentifyingAttributes"):
        for entry in description.get(name) or ():
            if len(found) < MAX_ATTRIBUTES and entry.get("key"):
                found[entry["key"]] = _read_value(entry.get("value") or {})
    for name, alias in _ALIASES.items():
        if name in found:
            found.setdefault(alias, found[name])
    return found


def _read_value(value: Mapping[str, Any]) -> str:
    if "boolValue" in value:
        return "true" if value["boolValue"] else "false"
    if "intValue" in value:
        number = value["intValue"]
        return str(number - (1 << 64) if number >> 63 else number)
    found = value.get("stringValue", "")
    return str(found)[: rules.MAX_VALUE]
