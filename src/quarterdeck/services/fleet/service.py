"""The fleet server: HTTP in front of the RPCs, and the loop that flushes what agents report.

Each RPC is one method of `pipeline_calls`, `collector_calls` or `agent_calls`. Writes are answered
once they are on disk.
"""

import contextlib

from quarterdeck.kit import http, rfc3339, websocket
from quarterdeck.kit.budget import Budget
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.http.tunnel import Upgrade
from quarterdeck.services.fleet import config_files, connect, opamp, opamp_socket
from quarterdeck.services.fleet.agent_calls import AgentCalls
from quarterdeck.services.fleet.auth import Scope, Tokens
from quarterdeck.services.fleet.collector_calls import CollectorCalls
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.config_files import ConfigFiles
from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.deliveries import plan_upkeep
from quarterdeck.services.fleet.delivery_calls import DeliveryCalls
from quarterdeck.services.fleet.errors import FleetError, invalid
from quarterdeck.services.fleet.opamp import OpampCalls
from quarterdeck.services.fleet.opamp_socket import OpampSocket
from quarterdeck.services.fleet.persistence import Persistence
from quarterdeck.services.fleet.pipeline_calls import PipelineCalls
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.reports import Reports
from quarterdeck.storage import StorageError, Store
from quarterdeck.telemetry.fleet.codes import Code

FLUSH_S = 30.0

MAX_TARGET = 1024 * 1024
"""Longest URL: Alloy sends GetConfig, with its effective configuration, in the URL."""


class FleetServer:
    """Serves pipelines and collectors over Connect and OpAMP."""

    def __init__(self, store: Store, tokens: Tokens, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._tokens = tokens
        disk = Persistence(store)
        self.pipelines = Pipelines(disk.load_pipelines(), disk.load_revisions())
        self.collectors = Collectors(disk.load_collectors())
        self.configs = Configs(self.pipelines)
        self._reports = Reports(self.collectors, disk)
        pipelines = PipelineCalls(self.pipelines, disk, self._now)
        self._save_pipelines = pipelines.save_unsaved
        collectors = CollectorCalls(self.collectors, self.configs, disk=disk, now=self._now)
        self._forget = collectors.remove_collectors
        self.agents = AgentCalls(
            self.collectors, self.configs, reports=self._reports, now=self._now
        )
        deliveries = DeliveryCalls(
            self.pipelines, self.collectors, self.configs, now=self._clock.now
        )
        self.opamp = OpampCalls(self.collectors, self.configs, reports=self._reports, now=self._now)
        self._opamp_budget = Budget(opamp_socket.MAX_HELD)
        self._files = ConfigFiles(
            self.collectors, self.configs, reports=self._reports, now=self._now
        )
        self._calls = {
            **pipelines.list_calls(),
            **collectors.list_calls(),
            **self.agents.list_calls(),
            **deliveries.list_calls(),
        }

    async def handle(self, request: http.Request) -> http.Response | http.StreamResponse:
        """Answer one request."""
        try:
            if request.path in ("/healthz", "/readyz") and request.method == "GET":
                return http.Response(200, [("Content-Type", "text/plain")], b"ok")
            if request.path == opamp.PATH:
                return await self._answer_opamp(request)
            if request.path in config_files.KINDS:
                return await self._serve_file(request)
            return await self._answer(request)
        except connect.Refusal as refusal:
            return refusal.response
        except FleetError as error:
            return connect.build_failure(error)
        except http.BodyTooLarge as error:
            return connect.build_failure(FleetError(Code.RESOURCE_EXHAUSTED, str(error)))
        except StorageError as error:
            return connect.build_failure(FleetError(Code.UNAVAILABLE, f"cannot write: {error}"))

    async def run(self) -> None:
        """Flush reports of agents, until cancelled; a last time at the end.

        A failing disk does not end the loop: reports stay in memory for the next flush, and writes
        that must not be lost return the error to their callers.
        """
        try:
            while True:
                await self._clock.sleep(FLUSH_S)
                with contextlib.suppress(StorageError):
                    await self.sweep_collectors()
                    await self.flush()
        finally:
            with contextlib.suppress(StorageError):
                await self.flush()

    async def sweep_collectors(self) -> None:
        """Mark collectors that no longer poll, and delete those inactive for long.

        Raises:
            StorageError: if it cannot be written; the next time tries again.
        """
        marked, gone = plan_upkeep(self.collectors.list_all(), self._clock.now())
        for collector in marked:
            self._reports.add(collector)
        await self._forget(gone)

    async def flush(self) -> None:
        """Write what agents have reported since the last time, and pipelines that failed before.

        Raises:
            StorageError: if it cannot be written; the next flush tries again.
        """
        await self._reports.flush()
        await self._save_pipelines()

    async def _answer(self, request: http.Request) -> http.Response:
        name, method = connect.find(request.path)
        self._tokens.check(request.headers.get("authorization") or "", Scope(method.scope))
        if request.method == "GET":
            call = connect.read_get(name, method, request.query)
        elif request.method == "POST":
            body = await request.read(connect.MAX_BODY)
            call = connect.read_post(name, method, request.headers, body)
        else:
            raise connect.Refusal(405, [("Allow", "GET, POST")], "use GET or POST")
        message = await self._calls[name](call.message)
        return connect.respond(call, message, request.headers)

    async def _answer_opamp(self, request: http.Request) -> http.Response | http.StreamResponse:
        """One message over plain HTTP, or a WebSocket for many."""
        self._tokens.check(request.headers.get("authorization") or "", Scope.AGENT)
        if request.method == "GET" and websocket.is_handshake(request.headers):
            try:
                headers = websocket.accept(request.headers)
            except websocket.WebSocketError as error:
                raise connect.Refusal(400, [("Sec-WebSocket-Version", "13")], str(error)) from error
            socket = OpampSocket(
                self.opamp, self.pipelines, clock=self._clock, budget=self._opamp_budget
            )
            return Upgrade(headers, socket.serve)
        if request.method != "POST":
            raise connect.Refusal(405, [("Allow", "POST")], "use POST")
        media = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
        if media != opamp.MEDIA:
            raise connect.Refusal(415, [("Accept-Post", opamp.MEDIA)], f"use {opamp.MEDIA}")
        body = await request.read(opamp.MAX_MESSAGE)
        data = connect.decompress(body, (request.headers.get("content-encoding") or "").lower())
        if len(data) > opamp.MAX_MESSAGE:
            raise invalid(f"the message is larger than {opamp.MAX_MESSAGE} bytes")
        answer = await self.opamp.answer(data)
        return http.Response(200, [("Content-Type", opamp.MEDIA)], answer)

    async def _serve_file(self, request: http.Request) -> http.Response:
        self._tokens.check(request.headers.get("authorization") or "", Scope.AGENT)
        if request.method != "GET":
            raise connect.Refusal(405, [("Allow", "GET")], "use GET")
        return await self._files.get(request)

    def _now(self) -> str:
        return rfc3339.format_time(self._clock.now())
