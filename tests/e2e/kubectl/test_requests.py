"""What kubectl sends: a cold one needs two requests to learn everything there is."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.app.kubeconfig import write_plain
from quarterdeck.kit import http

pytestmark = pytest.mark.slow

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"


class Recorder:
    """A server on loopback that notes what it is asked, and kubectl to ask it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.seen: list[str] = []

    async def answer(self, request: http.Request) -> http.Response | http.StreamResponse:
        if request.path != "/version":  # some packages of kubectl ask which of theirs to run
            self.seen.append(f"{request.method} {request.path}")
        return await self.cluster.api.handle(request)

    async def kubectl(self, *arguments: str, text: str = "") -> list[str]:
        """The requests of one command."""
        self.seen.clear()
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
        }
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate(text.encode())
        assert process.returncode == 0, output
        return list(self.seen)


@asynccontextmanager
async def recording(folder: Path) -> AsyncIterator[Recorder]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    async with Cluster() as cluster:
        recorder = Recorder(cluster, folder)
        server = http.Server(recorder.answer)
        listener = await server.listen("127.0.0.1", 0)
        write_plain(recorder.kubeconfig, listener.url)
        try:
            yield recorder
        finally:
            await server.drain(5)


async def test_cold_get_needs_two_requests_for_discovery(tmp_path: Path) -> None:
    async with recording(tmp_path) as recorder:
        pods = "GET /api/v1/namespaces/default/pods"
        cold = await recorder.kubectl("get", "pods")
        assert sorted(cold[:-1]) == ["GET /api", "GET /apis"]
        assert cold[-1] == pods
        assert await recorder.kubectl("get", "pods") == [pods]


async def test_apply_asks_for_one_document_and_the_object(tmp_path: Path) -> None:
    async with recording(tmp_path) as recorder:
        maps = "/api/v1/namespaces/default/configmaps"
        cold = await recorder.kubectl("apply", "-f", "-", text=CONFIG)
        assert {"GET /openapi/v3", "GET /openapi/v3/api/v1"} <= set(cold)
        assert cold[-2:] == [f"GET {maps}/a", f"POST {maps}"]
        warm = await recorder.kubectl("apply", "-f", "-", text=CONFIG.replace("v}", "w}"))
        assert warm[-2:] == [f"GET {maps}/a", f"PATCH {maps}/a"]
        assert len(warm) <= 4
        again = await recorder.kubectl("apply", "-f", "-", text=CONFIG.replace("v}", "w}"))
        assert again[-1] == f"GET {maps}/a"
