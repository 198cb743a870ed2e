"""`quarterdeck ingester`: a process of its own that serves collectors on a shared Redis."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest
from ingester_hub import CLOCK, Wire, make_batch
from measured import PYTHON

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.redis.address import RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.inventory.push.messages import ConnectRequest, RegisterRequest
from quarterdeck.testing import programs

pytestmark = pytest.mark.slow

COMMAND = (*PYTHON, "-m", "quarterdeck.cli", "ingester")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[int]:
    """The port of a Redis."""
    port = programs.find_free_port()
    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        yield port


async def test_an_ingester_alone_stores_what_collectors_push(redis: int, tmp_path: Path) -> None:
    port = programs.find_free_port()
    command = (*COMMAND, "--ingester-port", str(port), "--no-ingester-tls-enabled")
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=tmp_path,
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{redis}/0"},
        stderr=subprocess.PIPE,
    )
    state = RedisState(RedisAddress(hosts=(("127.0.0.1", redis),)))
    try:
        assert process.stderr is not None
        async for line in process.stderr:
            if b"serving collectors" in line:
                break
        token = (await tokens.issue_token(state, "east", at=CLOCK.now())).reveal()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            metadata = (("authorization", f"Bearer {token}"),)
            wire = Wire(channel.stream_stream(METHOD)(metadata=metadata))
            register = RegisterRequest(cluster_name="east", version="1.0", agent_id="a")
            await wire.send(ConnectRequest(register=register))
            assert (await wire.push(make_batch(4))).success
        assert b'"nodes":4' in (await state.get(keys.cluster("east", "metrics")) or b"")
    finally:
        await state.aclose()
        process.send_signal(signal.SIGINT)
        await process.communicate()


def test_an_ingester_without_a_shared_store_says_what_to_set(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if "REDIS" not in key}
    done = subprocess.run(
        COMMAND, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode != 0
    assert "set REDIS_URL" in done.stderr
