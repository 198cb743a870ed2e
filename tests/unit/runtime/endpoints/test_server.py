"""The pages of a manager stop together."""

import asyncio
import random

import pytest

from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.metrics import Registry
from quarterdeck.runtime.endpoints.health import HealthEndpoints
from quarterdeck.runtime.endpoints.server import BindAddress, Endpoints, MetricsEndpoint
from quarterdeck.runtime.observability.logging import get_logger


async def test_both_pages_stop_when_closing_them_is_cancelled() -> None:
    pages = HealthEndpoints(live={}, ready={}, journals=lambda: (), state=dict)
    endpoints = Endpoints(
        health=BindAddress(),
        metrics=MetricsEndpoint(is_insecure=True),
        pages=pages,
        registry=Registry(),
    )
    async with Client(ClusterConfig(server="http://127.0.0.1:1")) as client:
        await endpoints.open(
            client.raw, clock=SystemClock(), rng=random.Random(0), log=get_logger("test")
        )
    ports = [int(url.rpartition(":")[2]) for url in (endpoints.health_url, endpoints.metrics_url)]
    writers = []
    for port in ports:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /hea")
        await reader.readuntil(b"\r\n\r\n")  # the second request is under way
        writers.append(writer)
    closing = asyncio.ensure_future(endpoints.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
    for writer in writers:
        writer.close()
