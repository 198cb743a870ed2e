"""The Connect client: every RPC of a fleet server, over pooled connections and one limiter.

The time limit of a call starts when the limiter grants it, so that waiting for the limiter never
looks like an outage. Nothing is retried here: only the caller can tell whether that is safe.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck import __version__
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Masker, Secret
from quarterdeck.operators.pipelines.drivers.answers import (
    read_answer,
    read_id,
    read_list,
    read_pipeline,
    read_revisions,
)
from quarterdeck.operators.pipelines.drivers.collectors import (
    read_collector,
    read_deliveries,
    read_states,
)
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.operators.pipelines.ports import (
    CallFailed,
    CollectorState,
    Deliveries,
    Message,
    Remote,
    RemoteCollector,
    RemoteRevision,
)
from quarterdeck.runtime.observability import tracing
from quarterdeck.telemetry.fleet import protojson
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.fleet.messages import SERVICES

PIPELINES = "pipeline.v1.PipelineService"
MAX_ANSWER = 8 * 1024 * 1024
"""Largest response in bytes, to bound the memory of the operator."""
MAX_COLLECTORS = 64 * 1024 * 1024
"""Largest response of calls that list all collectors, in bytes; they have no pages."""
DEFAULT_PAUSE_S = 10.0
"""How long all calls pause after a 429 that names no delay."""
REFUSAL_S = 240.0
"""How long rejected credentials are not tried again; new credentials get a new client."""
_SCOPES = tuple({method.scope for methods in SERVICES.values() for method in methods.values()})
_SERVICE_OF = {name: service for service, methods in SERVICES.items() for name in methods}


class ConnectClient:
    """Calls a fleet server with the credentials of one user."""

    def __init__(
        self,
        url: str,
        *,
        username: str,
        password: Secret[str],
        client: http.Client,
        limiter: Limiter,
        clock: Clock,
        timeout_s: float = 30.0,
        metrics: FleetMetrics | None = None,
    ) -> None:
        self.url = url
        self._client = client
        self._limiter = limiter
        self._clock = clock
        self._timeout_s = timeout_s
        self._metrics = metrics or FleetMetrics()
        pair = f"{username}:{password.reveal()}".encode()
        self._masker = Masker(password, Secret(pair.decode()))
        self._authorization = Secret(f"Basic {base64.b64encode(pair).decode()}")
        self._refusals: dict[str, tuple[CallFailed, float]] = {}

    async def call(
        self, operation: str, message: Message, *, max_answer: int = MAX_ANSWER
    ) -> Message:
        """Call an RPC by its name; request and response use the field names of proto JSON.

        Raises:
            CallFailed: for every failure, with Connect's code.
            Paused: if the server had asked for a pause; nothing was sent.
        """
        service = _SERVICE_OF[operation]
        scope = SERVICES[service][operation].scope
        self._check_refused_scope(scope, operation)
        body = json.encode(protojson.write(SERVICES[service][operation].request, dict(message)))
        waited_s = await self._limiter.acquire()
        self._metrics.observe_wait(waited_s)
        started = self._clock.monotonic()
        failure: CallFailed | None = None
        with tracing.span(f"fleet {operation}", {"rpc.system": "connect", "rpc.method": operation}):
            try:
                return await self._exchange(
                    f"{self.url}/{service}/{operation}", body, max_answer=max_answer
                )
            except CallFailed as error:
                error.operation = operation
                failure = error
                self._pause_after(error, scope)
                raise
            finally:
                code = failure.code.value if failure is not None else ""
                self._metrics.observe_call(operation, self._clock.monotonic() - started, code)

    async def _exchange(self, url: str, body: bytes, *, max_answer: int) -> Message:
        headers = [
            ("authorization", self._authorization.reveal()),
            ("content-type", "application/json"),
            ("connect-protocol-version", "1"),
            ("connect-timeout-ms", str(int(self._timeout_s * 1000))),
            ("user-agent", f"quarterdeck/{__version__}"),
        ]
        try:
            response = await self._client.request(
                "POST", url, headers=headers, body=body, timeout_s=self._timeout_s
            )
            async with response:
                data = await response.read(max_answer)
        except (http.ReadTimeout, http.ConnectTimeout, TimeoutError) as error:
            text = f"no answer within {self._timeout_s:g} s"
            raise CallFailed(Code.DEADLINE_EXCEEDED, text) from error
        except http.BodyTooLarge as error:
            text = f"the answer is larger than {max_answer // 1024**2} MiB, which is refused"
            raise CallFailed(Code.INTERNAL, text) from error
        except (http.HttpError, OSError, ValueError) as error:
            raise CallFailed(Code.UNAVAILABLE, self._masker.mask(str(error))) from error
        return read_answer(
            response.status,
            response.headers,
            data,
            now=self._clock.now(),
            masker=self._masker,
        )

    def _read_pipeline(self, message: object, *, has_id: bool = True) -> Remote:
        """Decode a pipeline; fails if a member that a status shows contains our credentials."""
        remote = read_pipeline(message, has_id=has_id)
        shown = (remote.id, remote.name, remote.source_namespace, remote.source_type)
        if not all(map(self._masker.is_clean, (*shown, remote.created_at, remote.updated_at))):
            raise CallFailed(
                Code.INTERNAL,
                "the response contains the credentials of the request and is discarded",
            )
        return remote

    def _pause_after(self, error: CallFailed, scope: str) -> None:
        """Pause all calls after a 429, and calls of refused scopes after a 401 or 403."""
        if error.code is Code.RESOURCE_EXHAUSTED:
            if error.retry_after_s is None:
                error.retry_after_s = DEFAULT_PAUSE_S
            self._limiter.pause(error.retry_after_s)
        elif error.code is Code.UNAUTHENTICATED:
            self._remember(error, *_SCOPES)
        elif error.code is Code.PERMISSION_DENIED:
            self._remember(error, scope)

    def _remember(self, error: CallFailed, *scopes: str) -> None:
        until = self._clock.monotonic() + REFUSAL_S
        self._refusals.update((scope, (error, until)) for scope in scopes)

    def _check_refused_scope(self, scope: str, operation: str) -> None:
        """Fail without a call while a refusal is recent: the same credentials are refused again."""
        error, until = self._refusals.get(scope, (None, 0.0))
        if error is not None and self._clock.monotonic() < until:
            raise CallFailed(error.code, error.message, operation=operation)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    # --- pipelines, as the operator needs them

    async def create(self, message: Message, *, validate_only: bool = False) -> Remote:
        """CreatePipeline."""
        answer = await self.call(
            "CreatePipeline", _with_switch(message, validate_only=validate_only)
        )
        return self._read_pipeline(answer, has_id=not validate_only)

    async def update(self, message: Message, *, validate_only: bool = False) -> Remote:
        """UpdatePipeline: what the message leaves out is cleared."""
        answer = await self.call(
            "UpdatePipeline", _with_switch(message, validate_only=validate_only)
        )
        return self._read_pipeline(answer, has_id=not validate_only)

    async def upsert(self, message: Message, *, validate_only: bool = False) -> Remote:
        """UpsertPipeline: by name; replaces an existing pipeline without a check."""
        answer = await self.call(
            "UpsertPipeline", _with_switch(message, validate_only=validate_only)
        )
        return self._read_pipeline(answer, has_id=not validate_only)

    async def delete(self, identity: str) -> None:
        """DeletePipeline."""
        await self.call("DeletePipeline", {"id": identity})

    async def get(self, identity: str) -> Remote:
        """GetPipeline."""
        return self._read_pipeline(await self.call("GetPipeline", {"id": identity}))

    async def find(self, name: str) -> Remote | None:
        """The pipeline of a name: GetPipelineID, then GetPipeline."""
        try:
            found = await self.call("GetPipelineID", {"name": name})
            return await self.get(read_id(found))
        except CallFailed as error:
            if error.code is Code.NOT_FOUND:
                return None
            raise

    async def list(self) -> Sequence[Remote]:
        """ListPipelines: every one, with contents."""
        answer = await self.call("ListPipelines", {})
        return [self._read_pipeline(each) for each in read_list(answer, "pipelines")]

    async def list_all_revisions(self) -> Sequence[RemoteRevision]:
        """ListPipelinesRevisions: those of every pipeline without contents, oldest first."""
        return self._read_revisions(await self.call("ListPipelinesRevisions", {}))

    async def list_revisions(self, identity: str) -> Sequence[RemoteRevision]:
        """ListPipelineRevisions: those of one pipeline with contents, oldest first."""
        return self._read_revisions(await self.call("ListPipelineRevisions", {"id": identity}))

    def _read_revisions(self, answer: Message) -> Sequence[RemoteRevision]:
        found = []
        for head, snapshot in read_revisions(answer):
            if not self._masker.is_clean(head[0]):
                raise CallFailed(
                    Code.INTERNAL,
                    "the response contains the credentials of the request and is discarded",
                )
            found.append(RemoteRevision(*head, self._read_pipeline(snapshot, has_id=False)))
        return found

    async def sync(
        self,
        source: Mapping[str, str],
        pipelines: Sequence[Message],
        *,
        allow_empty: bool = False,
    ) -> None:
        """SyncPipelines: upsert all of a source, and delete what it no longer lists.

        Raises:
            ValueError: for an empty list without `allow_empty`: it would delete everything.
        """
        if not pipelines and not allow_empty:
            raise ValueError(
                "syncing an empty list deletes every pipeline of the source; pass allow_empty"
            )
        await self.call("SyncPipelines", {"source": dict(source), "pipelines": [*pipelines]})

    # --- collectors

    async def list_collectors(self, matchers: Sequence[str] = ()) -> Sequence[RemoteCollector]:
        """ListCollectors: all that satisfy the matchers; a kilobyte each."""
        answer = await self.call(
            "ListCollectors", {"matchers": [*matchers]}, max_answer=MAX_COLLECTORS
        )
        return [read_collector(each) for each in read_list(answer, "collectors")]

    async def get_collector(self, identity: str) -> RemoteCollector | None:
        """GetCollector; None if it has not registered."""
        try:
            return read_collector(await self.call("GetCollector", {"id": identity}))
        except CallFailed as error:
            if error.code is Code.NOT_FOUND:
                return None
            raise

    async def update_collector(self, message: Message) -> None:
        """UpdateCollector: what the message leaves out is cleared."""
        await self.call("UpdateCollector", {"collector": dict(message)})

    async def update_attributes(
        self, identities: Sequence[str], operations: Sequence[Message]
    ) -> None:
        """BulkUpdateCollectors: one transaction."""
        message = {"ids": [*identities], "ops": [dict(each) for each in operations]}
        await self.call("BulkUpdateCollectors", message)

    async def get_deliveries(self) -> Deliveries:
        """ListDeliveries, which only our own server has."""
        return read_deliveries(await self.call("ListDeliveries", {}), self._masker)

    async def get_collector_states(self) -> Mapping[str, CollectorState]:
        """ListCollectorStates, which only our own server has."""
        answer = await self.call("ListCollectorStates", {}, max_answer=MAX_COLLECTORS)
        return read_states(answer, self._masker)


def _with_switch(message: Message, *, validate_only: bool) -> dict[str, Any]:
    return {"pipeline": dict(message), "validateOnly": validate_only}
