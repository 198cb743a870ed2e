"""The stream to the hub: registers, sends batches in order, takes configuration and acks."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.agents.collector.tunnel import open_tunnel, split_address
from quarterdeck.inventory.push.codec import decode_response, encode_request
from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.inventory.push.messages import (
    Ack,
    ConfigUpdate,
    ConnectRequest,
    HealthReport,
    RegisterRequest,
)
from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.kit.redaction import Masker

_MAX_RECEIVED = 64 * 1024 * 1024
"""Limit of a received message: all MetricSources are sent in one."""
_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_receive_message_length", _MAX_RECEIVED),
    ("grpc.enable_retries", 0),
]


class Disconnected(Exception):
    """Raised when the hub cannot be reached, or ends the stream; the message names the cause."""


class Uplink:
    """One stream. `receive` must run while batches are sent."""

    def __init__(
        self,
        call: Any,
        *,
        on_config: Callable[[ConfigUpdate], None],
        masker: Masker | None = None,
    ) -> None:
        """`masker` removes the token from messages of the hub."""
        self._call = call
        self._masker = masker or Masker()
        self._on_config = on_config
        self._acks: asyncio.Queue[Ack] = asyncio.Queue(maxsize=16)
        self._writing = asyncio.Lock()
        self.accepted = asyncio.Event()
        """Set at the first response of the hub, which proves that it accepted the token."""

    async def register(self, request: RegisterRequest) -> None:
        """Send the registration of this collector."""
        await self._write([encode_request(ConnectRequest(register=request))])

    async def push(self, chunks: Sequence[bytes]) -> Ack:
        """Send a batch and wait for its ack."""
        await self._write(chunks)
        return await self._acks.get()

    async def send_heartbeat(self, report: HealthReport) -> None:
        """Send a heartbeat."""
        await self._write([encode_request(ConnectRequest(health=report))])

    async def receive(self) -> None:
        """Handle messages of the hub until the stream ends.

        Raises:
            Disconnected: when the stream ends; this method never returns.
        """
        import grpc.aio

        while True:
            try:
                data = await self._call.read()
                if data is grpc.aio.EOF:
                    raise Disconnected(await self._describe_end())
                response = decode_response(data)
            except grpc.aio.AioRpcError as error:
                text = self._masker.mask(f"{error.code().name}: {error.details()}")
                raise Disconnected(text) from error
            except ProtobufError as error:
                raise Disconnected(f"the hub's answer cannot be read: {error}") from error
            self.accepted.set()
            if response.config is not None:
                self._on_config(response.config)
            elif response.ack is not None:
                await self._acks.put(response.ack)

    async def _describe_end(self) -> str:
        code, details = await self._call.code(), await self._call.details()
        return self._masker.mask(f"{code.name}: {details or 'the hub ended the stream'}")

    async def _write(self, messages: Sequence[bytes]) -> None:
        import grpc.aio

        async with self._writing:
            for each in messages:
                try:
                    await self._call.write(each)
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
                    raise Disconnected(await self._describe_end()) from error


class Dial(Protocol):
    """Opens a stream to the hub."""

    def __call__(
        self, settings: CollectorSettings, *, on_config: Callable[[ConfigUpdate], None]
    ) -> AbstractAsyncContextManager[Uplink]:
        """Open a stream, closed at the end of the block; raises `Disconnected`."""
        ...


@contextlib.asynccontextmanager
async def dial(
    settings: CollectorSettings, *, on_config: Callable[[ConfigUpdate], None]
) -> AsyncIterator[Uplink]:
    """Open a stream to the hub; nothing is sent yet.

    Raises:
        Disconnected: if a TLS file cannot be read.
    """
    async with contextlib.AsyncExitStack() as stack:
        channel = await stack.enter_async_context(await _open_channel(settings, stack))
        metadata = (("authorization", f"Bearer {settings.token.reveal()}"),)
        call = channel.stream_stream(METHOD)(metadata=metadata)
        try:
            yield Uplink(call, on_config=on_config, masker=Masker(settings.token))
        finally:
            call.cancel()


async def _open_channel(settings: CollectorSettings, stack: contextlib.AsyncExitStack) -> Any:
    import grpc.aio

    address = settings.ingester_address
    if not settings.tls:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    name = settings.tls_server_name
    if name and name != split_address(address)[0]:
        context = await asyncio.to_thread(_build_context, settings)
        target = await stack.enter_async_context(open_tunnel(address, context, server_name=name))
        options = [*_OPTIONS, ("grpc.default_authority", name), ("grpc.enable_http_proxy", 0)]
        return grpc.aio.insecure_channel(target, options=options)
    credentials = await asyncio.to_thread(_load_credentials, settings)
    return grpc.aio.secure_channel(address, credentials, options=_OPTIONS)


def _build_context(settings: CollectorSettings) -> ssl.SSLContext:
    """Build the TLS context of the tunnel: it checks the chain, and the tunnel the name.

    Raises:
        Disconnected: naming the variable of a file that cannot be used.
    """
    authority, certificate = settings.tls_authority, settings.tls_certificate
    with _naming_file(authority, "INGESTER_TLS_CA", "has no certificates in PEM"):
        context = ssl.create_default_context(cafile=authority or None)
    with _naming_file(certificate, "INGESTER_TLS_CLIENT_CERT", "does not fit its key"):
        if certificate:
            context.load_cert_chain(certificate, settings.tls_key or None)
    context.check_hostname = False
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    return context


@contextlib.contextmanager
def _naming_file(path: str, variable: str, problem: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise Disconnected(f"{path} ({variable}) {problem}") from error
    except OSError as error:
        cause = error.strerror or str(error)
        raise Disconnected(f"cannot read {path} ({variable}): {cause}") from error


def _load_credentials(settings: CollectorSettings) -> Any:
    import grpc

    def read(path: str) -> bytes | None:
        return Path(path).read_bytes() if path else None

    _build_context(settings)  # gRPC does not report files that it cannot use
    try:
        return grpc.ssl_channel_credentials(
            read(settings.tls_authority), read(settings.tls_key), read(settings.tls_certificate)
        )
    except OSError as error:
        raise Disconnected(f"cannot read a TLS file: {error}") from error
