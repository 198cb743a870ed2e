"""The push cluster of `up --demo`: a real collector process beside a simulated cluster.

The hub deploys the collector as on any cluster. Pods are simulated there, so this module does what
a kubelet would: it starts the Deployment's container as a process, with the token from its Secret
and the rights of its service account.
"""

import asyncio
import base64
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.app.host import Host
from quarterdeck.app.ingester import IngesterAddress, find_authority
from quarterdeck.app.inline_kubeconfig import encode_config
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig, PemSource
from quarterdeck.client.errors import ClientError
from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.collector_objects import NAME, NAMESPACE, TOKEN_SECRET
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError

_STOP_S = 5.0
_RETRY_S = 1.0
_YEAR_S = 365 * 86_400
_SECRETS = GVR("", "v1", "secrets")
_DEPLOYMENTS = GVR("apps", "v1", "deployments")
_PROGRAM = """
import os, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
from quarterdeck.cli.main import main
main()
"""
"""The collector's program; it also exits when its standard input closes with its parent."""


@contextlib.asynccontextmanager
async def running_collector(
    host: Host, config: ClusterConfig, *, address: IngesterAddress
) -> AsyncIterator[None]:
    """Run the collector that the hub deploys on a cluster; it ends with the block."""
    async with Client(config, clock=host.clock) as admin, Supervisor("demo-collector") as tasks:
        tasks.spawn(_Kubelet(host, admin, address).run(), name="kubelet")
        yield


class _Kubelet:
    """Runs one Deployment as one process."""

    def __init__(self, host: Host, admin: Client, address: IngesterAddress) -> None:
        self._host = host
        self._admin = admin
        self._address = address

    async def run(self) -> None:
        """Start the process once the token exists, and restart it whenever the token changes."""
        await self._address.listening.wait()
        async with contextlib.AsyncExitStack() as stack:
            token = ""
            while True:
                found = await self._wait_token(token)
                await stack.aclose()
                await stack.enter_async_context(self._running(found))
                token = found

    async def _wait_token(self, known: str) -> str:
        """Wait until the Secret has another token than the known one; returns it."""
        secrets = self._admin.resource(_SECRETS)
        options = ListOptions(field_selector=f"metadata.name={TOKEN_SECRET}")
        while True:
            with contextlib.suppress(ApiError, ClientError):
                async with secrets.watch(NAMESPACE, options) as events:
                    async for _, secret in events:
                        token = _read_token(secret)
                        if token not in ("", known):
                            return token
            await self._host.clock.sleep(_RETRY_S)

    @contextlib.asynccontextmanager
    async def _running(self, token: str) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="quarterdeck-collector-") as text:
            folder = Path(text)
            config = encode_config(await self._build_config())
            await asyncio.to_thread(_write_private, folder / "kubeconfig", config)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _PROGRAM, "collector"),
                *("--kubeconfig", str(folder / "kubeconfig")),
                env=await self._build_environment(folder, token),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                yield
            finally:
                await _stop(process)

    async def _build_config(self) -> ClusterConfig:
        """The client configuration with a token of the collector's service account."""
        path = ResourcePath("", "v1", "serviceaccounts", NAMESPACE, NAME, "token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _YEAR_S},
        }
        answer = json.decode(await self._admin.raw.create(path, json.encode(body)))
        return msgspec.structs.replace(
            self._admin.config,
            token=Secret(str(answer["status"]["token"])),
            client_certificate=PemSource(),
            client_key=PemSource(),
        )

    async def _build_environment(self, folder: Path, token: str) -> dict[str, str]:
        """The variables of the Deployment, with paths and port of this machine."""
        assert self._host.serving_files is not None
        values = await self._wait_values()
        changes = {
            "COLLECTOR_TOKEN": token,
            "BUFFER_DIR": str(folder / "buffer"),
            "INGESTER_ADDRESS": f"localhost:{self._address.port}",
        }
        if "INGESTER_TLS_CA" in values:
            changes["INGESTER_TLS_CA"] = str(find_authority(self._host.serving_files))
        return {**os.environ, **values, **changes}

    async def _wait_values(self) -> dict[str, str]:
        """The environment of the Deployment, which is applied after the Secret."""
        deployments = self._admin.resource(_DEPLOYMENTS)
        while True:
            with contextlib.suppress(ApiError, ClientError):
                found = await deployments.get(NAME, NAMESPACE)
                [container] = found["spec"]["template"]["spec"]["containers"]
                return {each["name"]: each["value"] for each in container["env"] if "value" in each}
            await self._host.clock.sleep(_RETRY_S)


def _read_token(secret: dict[str, Any]) -> str:
    return base64.b64decode((secret.get("data") or {}).get("token", "")).decode()


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
