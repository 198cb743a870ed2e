"""One collector's stream: register, then batches and heartbeats, one after another."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Protocol

import msgspec

from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.push import leases, tokens
from quarterdeck.hubstate.push.batches import merge_chunks
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.inventory.push.codec import decode_request, decode_request_head, encode_response
from quarterdeck.inventory.push.messages import (
    ConnectRequest,
    ConnectResponse,
    HealthReport,
    MetricsBatch,
    RegisterRequest,
)
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.names import check_dns1123_subdomain
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.ingester.chunks import ChunkAssembler
from quarterdeck.services.ingester.configs import Configs
from quarterdeck.services.ingester.errors import BatchTooLarge, ProtocolError, TokenRefused
from quarterdeck.services.ingester.ingest import Ingest
from quarterdeck.services.ingester.options import IngesterOptions

_log = get_logger("services.ingester")
_MAX_VERSION = 128
MAX_REGISTER_BYTES = 64 * 1024
"""Limit of the first message: it is read before the collector is authenticated."""
_SMALL_BYTES = 4096
"""Messages up to this size, such as heartbeats, do not wait for batches: leases would expire."""


class Stream(Protocol):
    """The two directions of a stream, as bytes of messages."""

    token: str
    """The bearer token of the call; empty if there is none."""

    async def open(self) -> None:
        """Accept the call, before anything is written."""
        ...

    async def read(self) -> bytes | None:
        """The next message; None at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send a message."""
        ...


class Session:
    """Registers a collector and serves its stream."""

    def __init__(
        self,
        stream: Stream,
        *,
        state: StateStore,
        ingest: Ingest,
        configs: Configs,
        options: IngesterOptions,
        clock: Clock,
    ) -> None:
        self._stream = stream
        self._state = state
        self._ingest = ingest
        self._configs = configs
        self._options = options
        self._clock = clock
        self._assembler = ChunkAssembler(options, ingest.held)
        self._writing = asyncio.Lock()
        self.ending = asyncio.Event()
        """Set to end the stream after the current batch."""
        self.cluster = ""
        self._token_hash = ""

    async def register(self) -> str:
        """Read the first message and check its token; returns the cluster's name.

        Raises:
            ProtocolError: if the first message is another one, or does not come in time.
            TokenRefused: if the token is not that of the cluster.
            HubStateError: if the store cannot be asked.
        """
        try:
            data = await run_within(
                self._clock, self._options.register_timeout_s, self._stream.read()
            )
        except TimeoutError:
            raise ProtocolError("the collector did not register in time") from None
        if data is not None and len(data) > MAX_REGISTER_BYTES:
            raise ProtocolError(f"a RegisterRequest has at most {MAX_REGISTER_BYTES} bytes")
        request = _decode(data).register if data is not None else None
        if request is None:
            raise ProtocolError("the first message must be a RegisterRequest")
        token = _choose_token(self._stream.token, request)
        name = request.cluster_name
        if not name or check_dns1123_subdomain(name):
            raise ProtocolError(f"cluster_name {name[:80]!r} is not the name of a cluster")
        if not await tokens.check_token(self._state, name, token):
            raise TokenRefused(name)
        self.cluster, self._token_hash = name, tokens.hash_token(name, token)
        now = rfc3339.format_time(self._clock.now())
        self._lease = CollectorLease(
            session=secrets.token_hex(8),
            version=request.version[:_MAX_VERSION],
            agent_id=request.agent_id[:_MAX_VERSION],
            connected_at=now,
            last_heartbeat=now,
        )
        return name

    async def run(self) -> None:
        """Serve the stream until it ends, or until `ending` is set.

        Raises:
            StreamRefused: if the collector does not follow the protocol, its token was replaced,
                or its incomplete batch was dropped.
            HubStateError: if the store cannot be asked.
        """
        await self._stream.open()
        await self._state.commit([leases.plan_renewal(self.cluster, self._lease)])
        try:
            async with Supervisor("session") as tasks:
                tasks.spawn(self._send_configs(), name="configs")
                ending = tasks.spawn(self._wait_ending(), name="ending")
                while not self.ending.is_set():
                    if not await self._serve_next(tasks, ending):
                        break
        finally:
            self._assembler.clear()
            await self._release()

    async def _serve_next(self, tasks: Supervisor, ending: "asyncio.Task[None]") -> bool:
        """Read and answer one message; False at the end of the stream."""
        reading = tasks.spawn(self._read(), name="read")
        await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            reading.cancel()
            return False
        data = reading.result()
        if data is None:
            return False
        if len(data) > _SMALL_BYTES:
            async with self._ingest.slots:
                await self._answer(data)
        else:
            await self._answer(data)
        self._assembler.check_age(self._clock.monotonic())
        return True

    async def _answer(self, data: bytes) -> None:
        request = _decode(data, decode_request_head)
        if request.metrics is not None:
            await self._ingest_batch(request.metrics, data)
        elif request.health is not None:
            await self._renew(request.health)
        elif request.register is not None:
            raise ProtocolError("the collector is already registered on this stream")

    async def _read(self) -> bytes | None:
        try:
            return await run_within(self._clock, self._options.idle_s, self._stream.read())
        except TimeoutError:
            _log.info("collector sent no heartbeat", cluster=self.cluster)
            return None

    async def _ingest_batch(self, head: MetricsBatch, data: bytes) -> None:
        metrics, began = self._ingest.metrics, self._clock.monotonic()
        metrics.count_bytes(len(data))
        try:
            chunks = self._assembler.add(head, data, began)
        except BatchTooLarge as error:
            ack = self._ingest.refuse(head.batch_id, str(error))
        else:
            if chunks is None:
                return
            batch = merge_chunks([_read_batch(each) for each in chunks])
            ack = await self._ingest.ingest(self.cluster, self._token_hash, batch)
        if not ack.success:
            _log.warning("a batch was not stored", cluster=self.cluster, reason=ack.error)
        metrics.observe_batch(self._clock.monotonic() - began)
        await self._write(encode_response(ConnectResponse(ack=ack)))

    async def _renew(self, report: HealthReport) -> None:
        if report.cluster_name not in ("", self.cluster):
            raise ProtocolError("a heartbeat names another cluster than the one registered")
        record = await self._state.get(tokens.get_key(self.cluster))
        if not tokens.matches(record, self._token_hash):
            raise TokenRefused(self.cluster)
        self._lease = msgspec.structs.replace(
            self._lease,
            last_heartbeat=rfc3339.format_time(self._clock.now()),
            buffered_batches=max(0, report.buffered_batches),
            dropped_batches=max(0, report.dropped_batches),
        )
        await self._state.commit([leases.plan_renewal(self.cluster, self._lease)])

    async def _release(self) -> None:
        """Release the lease, unless a newer stream has taken it over."""
        try:
            held = await leases.find_lease(self._state, self.cluster)
            if held is not None and held.session == self._lease.session:
                await self._state.commit([leases.plan_release(self.cluster, held)])
        except HubStateError as error:
            _log.debug("cannot delete the lease of a collector; it expires", reason=str(error))

    async def _send_configs(self) -> None:
        version = ""
        while True:
            version = await self._configs.wait_changed(version)
            await self._write(self._configs.message)

    async def _wait_ending(self) -> None:
        await self.ending.wait()

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            await self._stream.write(data)


def _read_batch(data: bytes) -> MetricsBatch:
    batch = _decode(data).metrics
    assert batch is not None  # it has the head of one
    return batch


def _decode(
    data: bytes, decode: Callable[[bytes], ConnectRequest] = decode_request
) -> ConnectRequest:
    try:
        return decode(data)
    except ProtobufError as error:
        raise ProtocolError(f"a message cannot be read: {error}") from error


def _choose_token(header: str, request: RegisterRequest) -> str:
    """The token of the call, or that of the message; both must agree."""
    if header and request.token and header != request.token:
        raise TokenRefused(request.cluster_name[:80])
    return header or request.token
