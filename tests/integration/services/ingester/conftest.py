"""What gRPC opens once in a process, so that no test is blamed for it."""

import asyncio

import pytest
from ingester_hub import running_hub


@pytest.fixture(scope="session", autouse=True)
def _grpc_pollers() -> None:
    async def connect() -> None:
        async with running_hub() as hub, hub.connect("warm", await hub.issue("warm")):
            pass

    asyncio.run(connect())
