"""A hub and clusters over real sockets and TLS: which certificates are accepted."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.app import certificates, definitions
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.app.connection_manifests import build_connection
from quarterdeck.app.inline_kubeconfig import encode_config
from quarterdeck.client import Client, ClusterConfig, UntrustedServer
from quarterdeck.client.config.cluster import PemSource
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.conditions import find
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters.failures import describe
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.runtime import Manager
from quarterdeck.testing.poll import eventually


async def _connect(client: Client, name: str, config: ClusterConfig, **spec: Any) -> None:
    secret = {"kubeconfig": encode_config(config).decode()}
    await definitions.apply(client.raw, build_connection(name, config.server, secret, **spec))


async def _reach(client: Client, name: str, reason: str) -> ClusterConnection:
    async def holds() -> bool:
        found = await client.get(ClusterConnection, name, "default")
        condition = find(found.status.conditions, "Reachable")
        return condition is not None and condition.reason == reason

    await eventually(holds)
    return await client.get(ClusterConnection, name, "default")


async def test_only_trusted_clusters_are_read() -> None:
    clock = SystemClock()
    async with EmbeddedClusters(clock=clock) as factory:
        spoke, hub = await factory.create("spoke"), await factory.create("hub")
        async with Client(spoke) as client:
            await populate(client, Profile(nodes=2, pods=3), clock=clock)
        async with Client(hub) as client:
            await definitions.install(client.raw, KINDS)
            without = msgspec.structs.replace(spoke, certificate_authority=PemSource())
            stranger = msgspec.structs.replace(
                spoke, certificate_authority=hub.certificate_authority
            )
            await _connect(client, "trusted", spoke)
            await _connect(client, "unknown", without)
            await _connect(client, "stranger", stranger)
            await _connect(client, "insecure", without, insecureSkipTLSVerify=True)
            state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
            manager = Manager(client, name="test")
            clusters.register(manager, state=state, history=history)
            async with manager.running():
                trusted = await _reach(client, "trusted", "Connected")
                assert trusted.status.health == "healthy"
                assert _tls(trusted) == ("True", "Verified")
                assert _tls(await _reach(client, "insecure", "Connected")) == (
                    "False",
                    "InsecureSkipTLSVerify",
                )
                for name in ("unknown", "stranger"):
                    refused = await _reach(client, name, "UntrustedServer")
                    assert "ca.crt" in refused.status.message
                    key = base64.b64encode(spoke.client_key.read()).decode()
                    assert key not in str(refused)
            await state.aclose()
            await history.aclose()


@asynccontextmanager
async def _run_hub() -> AsyncIterator[Client]:
    clock = SystemClock()
    async with (
        EmbeddedClusters(clock=clock) as factory,
        Client(await factory.create("hub")) as client,
    ):
        await definitions.install(client.raw, KINDS)
        state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
        manager = Manager(client, name="test")
        clusters.register(manager, state=state, history=history)
        async with manager.running():
            yield client
        await state.aclose()
        await history.aclose()


async def test_a_certificate_authority_that_is_not_pem_names_the_key_of_the_secret() -> None:
    async with _run_hub() as client:
        secret = {"token": "t", "ca.crt": "garbage"}
        made = build_connection("east", "https://127.0.0.1:1", secret)
        await definitions.apply(client.raw, made)
        found = await _reach(client, "east", "CredentialsUnavailable")
        assert found.status.message == (
            "the key 'ca.crt' of Secret default/east-credentials: the certificate authority is "
            "not PEM"
        )
        assert find(found.status.conditions, "TLSVerified") is None


async def test_a_token_of_two_words_is_refused_in_a_message_without_gaps() -> None:
    async with _run_hub() as client:
        made = build_connection("east", "https://127.0.0.1:1", {"token": "two words"})
        await definitions.apply(client.raw, made)
        found = await _reach(client, "east", "CredentialsUnavailable")
        assert found.status.message == (
            "the key 'token' of Secret default/east-credentials contains a space or a control "
            "character"
        )


async def test_a_server_without_namespaces_is_a_bad_answer_that_names_the_address() -> None:
    async def answer(_: http.Request) -> http.Response:
        return http.Response(404, [], b'{"error":"no such page"}')

    async with http.Server(answer) as web, _run_hub() as client:
        url = (await web.listen("127.0.0.1", 0)).url
        await definitions.apply(client.raw, build_connection("east", url, {"token": "t"}))
        found = await _reach(client, "east", "BadAnswer")
        assert found.status.message.startswith(f"{url} does not have /api/v1/namespaces")
        assert found.status.message.endswith("check the address")


async def test_a_host_that_cannot_be_a_name_is_reported() -> None:
    async with _run_hub() as client:
        made = build_connection("east", "https://a..b:1", {"token": "t"})
        await definitions.apply(client.raw, made)
        found = await _reach(client, "east", "Unreachable")
        assert "a..b:1: not a host name: label empty or too long" in found.status.message


def _tls(connection: ClusterConnection) -> tuple[str, str]:
    condition = find(connection.status.conditions, "TLSVerified")
    assert condition is not None
    return condition.status, condition.reason


async def test_a_certificate_that_has_expired_is_to_be_renewed(tmp_path: Path) -> None:
    made = certificates.ensure(tmp_path, datetime.now(UTC) - timedelta(days=2 * 365))

    async def refuse(request: http.Request) -> http.Response:
        raise AssertionError(request.path)

    async with http.Server(refuse) as web:
        url = (await web.listen("127.0.0.1", 0, tls=made.server_context())).url
        authority = PemSource(file=made.certificate("authority"))
        async with Client(ClusterConfig(server=url, certificate_authority=authority)) as client:
            with pytest.raises(UntrustedServer) as caught:
                await client.get_server_version()
    text = describe(caught.value)
    assert "certificate has expired" in text
    assert text.endswith("; renew the certificate of the API server")
