"""The gRPC listener: one method, raw bytes, TLS whose files are read again when they change."""

import contextlib
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.ingester.configs import Configs
from quarterdeck.services.ingester.errors import BufferFull, ProtocolError, TokenRefused
from quarterdeck.services.ingester.grpc_stream import GrpcStream
from quarterdeck.services.ingester.ingest import Ingest
from quarterdeck.services.ingester.metrics import IngesterMetrics
from quarterdeck.services.ingester.options import IngesterOptions
from quarterdeck.services.ingester.registration_limiter import RegistrationLimiter
from quarterdeck.services.ingester.session import Session

if TYPE_CHECKING:
    import grpc.aio

_log = get_logger("services.ingester")
_SMALL_BUFFERS = (
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 32 * 1024),
    ("grpc.experimental.tcp_min_read_chunk_size", 4 * 1024),
    ("grpc.experimental.tcp_max_read_chunk_size", 16 * 1024),
)
"""Small buffers, because a thousand collectors are connected and seldom send.

A window of 32 KiB still allows 320 KB/s per collector at a latency of 100 ms.
"""


class ListenFailed(Exception):
    """Raised when the ingester cannot listen: the port is taken, or a TLS file cannot be used."""


def load_grpc() -> None:
    """Import gRPC with fork support disabled, so that it does not log a line at each fork."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    import grpc.aio  # noqa: F401


class Ingester:
    """Serves collectors."""

    def __init__(
        self,
        state: StateStore,
        history: History,
        *,
        options: IngesterOptions,
        clock: Clock,
        metrics: IngesterMetrics | None = None,
    ) -> None:
        self._state = state
        self._options = options
        self._clock = clock
        self._metrics = metrics or IngesterMetrics()
        self._ingest = Ingest(state, history, options=options, clock=clock, metrics=self._metrics)
        self._configs = Configs(state, clock=clock)
        self._configs.on_change = self._take_intervals
        self._sessions: dict[str, Session] = {}
        self._limiter = RegistrationLimiter(
            per_peer=options.max_registering_of_peer, in_total=options.max_registering
        )
        self._metrics.follow_connections(lambda: len(self._sessions))
        self._metrics.follow_backlog(self._ingest.backlog)
        self._is_draining = False
        self.port = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Supervisor]:
        """Listen while the block runs; then let streams finish their current batch.

        Samples that wait for the history are tried once more at the end. The work in the background
        must be watched: without it limits stay old, and samples that wait are not tried again.

        Raises:
            ListenFailed: if it cannot listen.
        """
        server = self._build_server()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._flush)
            tasks = await stack.enter_async_context(Supervisor("ingester"))
            tasks.spawn(self._configs.run(), name="configs")
            tasks.spawn(self._ingest.backlog.run(), name="backlog")
            await server.start()
            if self._options.tls is None:
                _log.warning(
                    "collectors are served without TLS: tokens and data are sent unencrypted",
                    port=self.port,
                )
            try:
                yield tasks
            finally:
                await self._drain(server)

    def _take_intervals(self) -> None:
        self._ingest.intervals = self._configs.intervals

    def statistics(self) -> dict[str, int]:
        """Streams and batches of this process."""
        return {
            "connected": len(self._sessions),
            "stored": self._ingest.stored,
            "duplicates": self._ingest.duplicates,
            "refused": self._ingest.refused,
            "registering": self._limiter.registering,
            "held_bytes": self._ingest.held.held,
        }

    async def _drain(self, server: "grpc.aio.Server") -> None:
        self._is_draining = True
        for session in list(self._sessions.values()):
            session.ending.set()
        await server.stop(self._options.drain_s)

    async def _flush(self) -> None:
        backlog = self._ingest.backlog
        with contextlib.suppress(TimeoutError):
            await run_within(self._clock, self._options.drain_s, backlog.flush())
        if backlog.waiting:
            _log.warning("samples are lost: the history does not answer", count=backlog.waiting)

    def _build_server(self) -> "grpc.aio.Server":
        load_grpc()
        import grpc
        import grpc.aio

        options = self._options
        address = f"{options.host}:{options.port}"
        keepalive_ms = int(options.keepalive_s * 1000)
        credentials = self._build_credentials(address)
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", options.max_message_bytes),
                ("grpc.max_metadata_size", 16 * 1024),
                ("grpc.max_concurrent_streams", 100),
                ("grpc.keepalive_time_ms", keepalive_ms),
                ("grpc.keepalive_timeout_ms", 10_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
                ("grpc.so_reuseport", 0),
                *_SMALL_BUFFERS,
            ],
            maximum_concurrent_rpcs=options.max_streams,
        )
        server.add_generic_rpc_handlers((_build_handler(self._connect),))
        try:
            if credentials is None:
                self.port = server.add_insecure_port(address)
            else:
                self.port = server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise ListenFailed(f"cannot listen on {address}: {error}") from error
        return server

    def _build_credentials(self, address: str) -> Any:
        if self._options.tls is None:
            return None
        from quarterdeck.services.ingester.tls import build_credentials

        try:
            return build_credentials(self._options.tls)
        except (OSError, ValueError) as error:
            raise ListenFailed(f"cannot listen on {address}: {error}") from error

    async def _connect(self, _: Any, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        """One stream, from its first message to its end."""
        import grpc

        stream = GrpcStream(context)
        session = Session(
            stream,
            state=self._state,
            ingest=self._ingest,
            configs=self._configs,
            options=self._options,
            clock=self._clock,
        )
        try:
            await self._serve(session, context.peer())
        except TokenRefused as error:
            self._metrics.count_refusal("token")
            _log.warning("a collector was refused", peer=context.peer())
            await stream.refuse(grpc.StatusCode.UNAUTHENTICATED, str(error))
        except ProtocolError as error:
            self._metrics.count_refusal("protocol")
            _log.warning("a stream was ended", cluster=session.cluster, reason=str(error))
            await stream.refuse(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except BufferFull as error:
            self._metrics.count_refusal("memory")
            _log.warning("a stream was ended", cluster=session.cluster, reason=str(error))
            await stream.refuse(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except HubStateError as error:
            self._metrics.count_refusal("store")
            _log.warning("the store does not answer", cluster=session.cluster, reason=str(error))
            await stream.refuse(grpc.StatusCode.UNAVAILABLE, "the hub's store does not answer")
        if self._is_draining:
            text = "the hub is shutting down; reconnect"
            await stream.refuse(grpc.StatusCode.UNAVAILABLE, text)

    async def _serve(self, session: Session, peer: str) -> None:
        try:
            limit_s = 2 * self._options.register_timeout_s  # one for its turn, one for itself
            cluster = await run_within(self._clock, limit_s, self._register(session, peer))
        except TimeoutError:
            text = f"the collector was not registered within {limit_s:g} s; try again"
            raise ProtocolError(text) from None
        before = self._sessions.get(cluster)
        if before is not None:
            before.ending.set()
        self._sessions[cluster] = session
        if self._is_draining:
            session.ending.set()
        _log.info("collector connected", cluster=cluster)
        try:
            await session.run()
        finally:
            if self._sessions.get(cluster) is session:
                del self._sessions[cluster]
            _log.info("collector disconnected", cluster=cluster)

    async def _register(self, session: Session, peer: str) -> str:
        async with self._limiter.acquire(peer):
            return await session.register()


def _build_handler(connect: Any) -> Any:
    import grpc

    method = grpc.stream_stream_rpc_method_handler(connect)

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        """Handles the only method of the service."""

        def service(self, details: Any) -> Any:
            return method if details.method == METHOD else None

    return Handler()
