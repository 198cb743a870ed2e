"""The push cluster of `up --demo`: a real collector process beside a simulated cluster."""

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from quarterdeck.app.host import Host
from quarterdeck.app.ingester import IngesterAddress
from quarterdeck.app.inline_kubeconfig import encode_config
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.push.tokens import issue_token
from quarterdeck.kit.redaction import Secret

_STOP_S = 5.0
_PROGRAM = """
import os, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
from quarterdeck.cli.main import main
main()
"""
"""The command, which also ends when its standard input does: with a parent that was killed."""


@contextlib.asynccontextmanager
async def running_collector(
    host: Host, name: str, config: ClusterConfig, *, state: StateStore, address: IngesterAddress
) -> AsyncIterator[None]:
    """Run a collector of a cluster once the ingester listens; it ends with the block."""
    assert host.serving_files is not None
    token = await issue_token(state, name, at=host.clock.now())
    await address.listening.wait()
    with tempfile.TemporaryDirectory(prefix="quarterdeck-collector-") as text:
        folder = Path(text)
        await asyncio.to_thread(_write_private, folder / "kubeconfig", encode_config(config))
        authority = host.serving_files[0].with_name("authority.crt")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _PROGRAM, "collector"),
            *("--kubeconfig", str(folder / "kubeconfig")),
            env=_build_environment(name, folder, authority, token=token, port=address.port),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            await _stop(process)


def _build_environment(
    name: str, folder: Path, authority: Path, *, token: Secret[str], port: int
) -> dict[str, str]:
    return {
        **os.environ,
        "CLUSTER_NAME": name,
        "INGESTER_ADDRESS": f"localhost:{port}",
        "COLLECTOR_TOKEN": token.reveal(),
        "BUFFER_DIR": str(folder / "buffer"),
        "INGESTER_TLS_ENABLED": "true",
        "INGESTER_TLS_CA": str(authority),
    }


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _write_private(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)
