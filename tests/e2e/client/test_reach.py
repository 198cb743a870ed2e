"""Every way to reach a server: certificates, plugins, proxies, other names, other identities.

The server is `quarterdeck server` as a process, on TLS.
"""

import asyncio
import base64
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import (
    Client,
    ClusterConfig,
    ConnectionFailed,
    UntrustedServer,
    load_config,
)
from quarterdeck.client.config.cluster import Impersonation, PemSource
from quarterdeck.kit import yaml
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.testing.clocks import SkewedClock
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import Forbidden

REVIEWS = GVR("authentication.k8s.io", "v1", "selfsubjectreviews")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a server that runs while this module is tested."""
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "quarterdeck.cli", "server", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(folder / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("ready"):
                break
        yield folder / "data" / "kubeconfig"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=240)


@pytest.fixture
def config(kubeconfig: Path) -> ClusterConfig:
    return load_config(kubeconfig)


async def who(client: Client) -> dict[str, Any]:
    """Whom the server takes us for."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.resource(REVIEWS).create(body)
    user: dict[str, Any] = answer["status"]["userInfo"]
    return user


async def exercise(client: Client, name: str) -> None:
    """Write, watch and delete over one client."""
    metadata = ObjectMeta(name=name, namespace="default")
    created = await client.create(ConfigMap(metadata=metadata, data={"x": "1"}))
    options = ListOptions(field_selector=f"metadata.name={name}", resource_version="0")
    async with client.watch(ConfigMap, "default", options) as events:
        async for event in events:
            assert event.object.metadata.uid == created.metadata.uid
            break
    await client.delete(created)


# --- certificates


async def test_a_client_certificate_authenticates_the_administrator(config: ClusterConfig) -> None:
    async with Client(config) as client:
        user = await who(client)
        assert user["username"] == "kubernetes-admin"
        assert "system:masters" in user["groups"]
        await exercise(client, "certificate")


async def test_a_request_without_a_certificate_is_anonymous(config: ClusterConfig) -> None:
    nobody = msgspec.structs.replace(config, client_certificate=PemSource(), client_key=PemSource())
    async with Client(nobody) as client:
        assert (await client.get_server_version())["gitVersion"].startswith("v1.")
        with pytest.raises(Forbidden, match="system:anonymous"):
            await client.list(ConfigMap, "default")


async def test_a_server_of_another_authority_is_not_trusted(
    config: ClusterConfig, tmp_path: Path
) -> None:
    certificate, _ = generate_self_signed(SystemClock().now())
    other = tmp_path / "other.crt"
    other.write_bytes(certificate)
    wrong = msgspec.structs.replace(config, certificate_authority=PemSource(file=other))
    async with Client(wrong) as client:
        with pytest.raises(UntrustedServer):
            await client.get_server_version()


async def test_a_server_may_be_known_by_another_name(config: ClusterConfig) -> None:
    named = msgspec.structs.replace(config, tls_server_name="kubernetes.default.svc")
    async with Client(named) as client:
        await exercise(client, "named")
    misnamed = msgspec.structs.replace(config, tls_server_name="elsewhere.example")
    async with Client(misnamed) as client:
        with pytest.raises(UntrustedServer):
            await client.get_server_version()


async def test_renewed_certificate_files_are_used(config: ClusterConfig, tmp_path: Path) -> None:
    """A certificate that the server does not take is replaced in its files, and then it does."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    strange = generate_self_signed(SystemClock().now())
    certificate.write_bytes(strange[0])
    key.write_bytes(strange[1])
    filed = msgspec.structs.replace(
        config,
        client_certificate=PemSource(file=certificate),
        client_key=PemSource(file=key),
    )
    hurried = SkewedClock(SystemClock(), rate=1000)
    async with Client(filed, clock=hurried) as client:
        with pytest.raises(ConnectionFailed):
            await client.list(ConfigMap, "default")
        certificate.write_bytes(config.client_certificate.read())
        key.write_bytes(config.client_key.read())
        await hurried.sleep(61)  # a minute, as the client sees it
        assert (await who(client))["username"] == "kubernetes-admin"


# --- plugins

PLUGIN = """
import json, os, pathlib, sys
here = pathlib.Path(sys.argv[1])
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
with (here / "calls").open("a") as calls:
    calls.write(info["spec"]["cluster"]["server"] + "\\n")
print(json.dumps({"kind": "ExecCredential", "apiVersion": info["apiVersion"], "status": {
    "clientCertificateData": (here / "tls.crt").read_text(),
    "clientKeyData": (here / "tls.key").read_text(),
    "expirationTimestamp": "2099-01-01T00:00:00Z"}}))
"""


async def test_a_kubeconfig_with_a_plugin_works_from_end_to_end(
    kubeconfig: Path, tmp_path: Path
) -> None:
    document = yaml.load(kubeconfig.read_text())
    assert isinstance(document, dict)
    user = document["users"][0]["user"]
    for file, member in (("tls.crt", "client-certificate-data"), ("tls.key", "client-key-data")):
        (tmp_path / file).write_bytes(base64.b64decode(user[member]))
    (tmp_path / "plugin.py").write_text(PLUGIN)
    document["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(tmp_path / "plugin.py"), str(tmp_path)],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    written = tmp_path / "kubeconfig"
    written.write_text(yaml.dump(document))
    config = load_config(written)
    async with Client(config) as client:
        users = await asyncio.gather(*(who(client) for _ in range(5)))
        assert {user["username"] for user in users} == {"kubernetes-admin"}
        await exercise(client, "plugin")
    calls = (tmp_path / "calls").read_text().split()
    assert calls == [config.server], "asked once, and told of the cluster"


# --- proxies


class ConnectProxy:
    """An HTTP proxy that makes tunnels, for those who know the password."""

    def __init__(self, password: str = "") -> None:
        login = base64.b64encode(f"me:{password}".encode()).decode()
        self._wanted = f"Basic {login}" if password else ""
        self.tunnels: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            if method != "CONNECT" or (self._wanted and self._wanted not in head):
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                await writer.drain()
                return
            self.tunnels.append(target)
            host, _, port = target.rpartition(":")
            up_reader, up_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, up_writer))
                group.create_task(_pump(up_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def proxy(password: str = "") -> AsyncIterator[tuple[ConnectProxy, int]]:
    made = ConnectProxy(password)
    running: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(made.serve(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield made, server.sockets[0].getsockname()[1]
    await asyncio.gather(*running)


async def test_everything_goes_through_a_proxy(config: ClusterConfig) -> None:
    async with proxy() as (seen, port):
        through = msgspec.structs.replace(config, proxy_url=f"http://127.0.0.1:{port}")
        async with Client(through) as client:
            await exercise(client, "proxied")
            assert (await who(client))["username"] == "kubernetes-admin"
        assert set(seen.tunnels) == {config.server.removeprefix("https://")}
        assert len(seen.tunnels) >= 2, "one for requests, one for the watch"


async def test_a_proxy_that_asks_for_a_password_gets_it(config: ClusterConfig) -> None:
    async with proxy("hunter2") as (_, port):
        right = f"http://me:hunter2@127.0.0.1:{port}"
        async with Client(msgspec.structs.replace(config, proxy_url=right)) as client:
            await exercise(client, "password")
        wrong = f"http://me:opensesame@127.0.0.1:{port}"
        async with Client(msgspec.structs.replace(config, proxy_url=wrong)) as client:
            with pytest.raises(ConnectionFailed, match="407") as caught:
                await client.get_server_version()
        assert "opensesame" not in str(caught.value)


async def test_a_proxy_that_is_gone_costs_a_bounded_time(config: ClusterConfig) -> None:
    away = msgspec.structs.replace(config, proxy_url="http://127.0.0.1:9", timeout_s=2.0)
    async with Client(away) as client:
        async with asyncio.timeout(240):
            with pytest.raises(ConnectionFailed, match="proxy"):
                await client.get_server_version()


# --- identities


async def test_a_client_can_impersonate_another_user(config: ClusterConfig) -> None:
    jane = Impersonation(
        user="jane", groups=("developers",), extra={"example.com/team": ("red", "blue")}
    )
    async with Client(config) as client, client.impersonate(jane) as acting:
        user = await who(acting)
        assert user["username"] == "jane"
        assert {"developers", "system:authenticated"} <= set(user["groups"])
        assert user["extra"] == {"example.com/team": ["red", "blue"]}
        with pytest.raises(Forbidden, match="jane"):
            await acting.list(ConfigMap, "default")
        assert (await who(client))["username"] == "kubernetes-admin"
