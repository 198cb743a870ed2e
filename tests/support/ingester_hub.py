"""A real ingester on a real socket, an embedded store, and a collector that can do anything."""

import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import grpc
import grpc.aio

from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.hubstate.push import tokens
from quarterdeck.inventory.push.codec import decode_response, encode_request
from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.inventory.push.messages import (
    Ack,
    ClusterMetrics,
    ConfigUpdate,
    ConnectRequest,
    ConnectResponse,
    MetricsBatch,
    RegisterRequest,
)
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.metrics import Registry
from quarterdeck.services.ingester.metrics import IngesterMetrics
from quarterdeck.services.ingester.options import IngesterOptions
from quarterdeck.services.ingester.server import Ingester

CLOCK = SystemClock()
BEGAN = CLOCK.now().replace(microsecond=0) - timedelta(minutes=10)


class Wire:
    """One stream of a collector, message by message."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.configs: list[ConfigUpdate] = []

    async def send(self, request: ConnectRequest) -> None:
        await self.call.write(encode_request(request))

    async def receive(self) -> ConnectResponse:
        data = await self.call.read()
        if data is grpc.aio.EOF:
            raise EOFError(await self.call.code())
        return decode_response(data)

    async def receive_config(self) -> ConfigUpdate:
        while (found := (await self.receive()).config) is None:
            pass
        return found

    async def receive_ack(self) -> Ack:
        while True:
            response = await self.receive()
            if response.ack is not None:
                return response.ack
            assert response.config is not None
            self.configs.append(response.config)

    async def push(self, batch: MetricsBatch) -> Ack:
        await self.send(ConnectRequest(metrics=batch))
        return await self.receive_ack()

    async def wait_refused(self) -> tuple[grpc.StatusCode, str]:
        """Read until the hub ends the stream; its status."""
        with contextlib.suppress(grpc.aio.AioRpcError):
            while await self.call.read() is not grpc.aio.EOF:
                pass
        return await self.call.code(), await self.call.details()


class Hub:
    """An ingester and its stores."""

    def __init__(
        self, state: StateStore, history: History, options: IngesterOptions | None = None
    ) -> None:
        self.state = state
        self.history = history
        self.options = options or IngesterOptions(port=0)
        self.registry = Registry()
        self.ingester = Ingester(
            state,
            history,
            options=self.options,
            clock=CLOCK,
            metrics=IngesterMetrics(self.registry),
        )

    async def issue(self, cluster: str) -> str:
        return (await tokens.issue_token(self.state, cluster, at=CLOCK.now())).reveal()

    @contextlib.asynccontextmanager
    async def dial(self, token: str = "") -> AsyncIterator[Wire]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self.ingester.port}") as channel:
            metadata = (("authorization", f"Bearer {token}"),) if token else ()
            call = channel.stream_stream(METHOD)(metadata=metadata)
            try:
                yield Wire(call)
            finally:
                call.cancel()

    @contextlib.asynccontextmanager
    async def connect(self, cluster: str, token: str) -> AsyncIterator[Wire]:
        """A registered stream."""
        async with self.dial(token) as wire:
            await wire.send(
                ConnectRequest(
                    register=RegisterRequest(cluster_name=cluster, version="1.0", agent_id="a")
                )
            )
            wire.configs.append(await wire.receive_config())
            yield wire


def make_batch(sequence: int = 1, /, **changes: Any) -> MetricsBatch:
    """A small batch; every sequence number is a second later."""
    values: dict[str, Any] = {
        "batch_id": f"b{sequence}",
        "agent_id": "a",
        "sequence": sequence,
        "collected_at": BEGAN + timedelta(seconds=sequence),
        "cluster_metrics": ClusterMetrics(nodes=sequence, namespace_list=("default",)),
    }
    return MetricsBatch(**(values | changes))


@contextlib.asynccontextmanager
async def running_hub() -> AsyncIterator[Hub]:
    """An ingester that listens."""
    state, history = open_embedded(None, clock=CLOCK), open_history(None, clock=CLOCK)
    try:
        hub = Hub(state, history)
        async with hub.ingester.running():
            yield hub
    finally:
        await history.aclose()
        await state.aclose()


def with_hub(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Give a test its own `hub`; the other arguments are fixtures as usual."""

    async def run(**arguments: Any) -> None:
        async with running_hub() as hub:
            await test(hub=hub, **arguments)

    signature = inspect.signature(test)
    others = [each for name, each in signature.parameters.items() if name != "hub"]
    run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.__dict__.update(test.__dict__)
    return run
