"""client-go with protobuf alone: what controllers written in Go ask for by default."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.e2e.go.test_oracles import build, go

from quarterdeck.app.cluster import Cluster

__all__ = ["go"]

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(900)]


async def test_client_go_reads_every_answer_in_protobuf(go: str, tmp_path: Path) -> None:
    program = await asyncio.to_thread(build, go, "protobuf_client", tmp_path)
    async with Cluster() as cluster:
        command = [str(program), cluster.url]
        done = await asyncio.to_thread(run, command)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False)
