"""The metrics page: over TLS, to callers the API server vouches for; plain on loopback only."""

import asyncio
import contextlib
import hashlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import GVR
from quarterdeck.runtime import BindAddress, Context, Controller, Manager, MetricsEndpoint
from quarterdeck.runtime.endpoints.certificate import (
    CertificateError,
    CertificateFiles,
    EndpointCertificate,
    generate_self_signed,
)
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.authentication.x509 import ClientCertificates

ACCOUNTS = GVR("", "v1", "serviceaccounts")
TOKENS = {
    "operator-token": User(name="operator", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP)),
    "prometheus-token": User(name="prometheus", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP)),
    "stranger-token": User(name="stranger", groups=(AUTHENTICATED_GROUP,)),
}


async def nothing(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
    pass


def trusting(certificate: bytes | None = None) -> ssl.SSLContext:
    """TLS that trusts one certificate, or, to see who serves, any."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if certificate is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=certificate.decode())
    return context


async def read(url: str, token: str = "", tls: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    headers = [("authorization", f"Bearer {token}")] if token else []
    async with http.Client(tls=tls or trusting()) as client:
        answer = await client.request("GET", f"{url}/metrics", headers=headers)
        return answer.status, await answer.read()


@contextlib.asynccontextmanager
async def serving(page: MetricsEndpoint) -> AsyncIterator[tuple[Manager, Cluster]]:
    authenticators = (
        ClientCertificates(),
        BearerTokens(TOKENS),
        PlainPort(),
    )
    async with Cluster(authenticators=authenticators) as cluster:
        config = ClusterConfig(server=cluster.url, token=Secret("operator-token"))
        async with Client(config) as client:
            manager = Manager(
                client, name="m", metrics=page, events="off", graceful_shutdown_timeout_s=1
            )
            manager.add(Controller(reconcile=nothing, for_=ConfigMap))
            async with manager.running():
                yield manager, cluster


async def test_callers_are_checked_by_the_api_server_over_a_certificate_made_here() -> None:
    async with serving(MetricsEndpoint()) as (manager, cluster):
        url = manager.metrics_url
        assert url.startswith("https://127.0.0.1:")
        assert (await read(url))[0] == 401
        assert (await read(url, "nonsense"))[0] == 401
        assert (await read(url, "stranger-token"))[0] == 403
        status, body = await read(url, "prometheus-token")
        assert status == 200
        assert (
            b'controller_runtime_reconcile_total{controller="configmap",result="error"} 0' in body
        )
        made = (
            await cluster.client.resource(ACCOUNTS)
            .subresource("token")
            .create(
                {
                    "apiVersion": "authentication.k8s.io/v1",
                    "kind": "TokenRequest",
                    "metadata": {"name": "default"},
                    "spec": {},
                },
                "default",
            )
        )
        assert (await read(url, made["status"]["token"]))[0] == 403, "known, but may not"


async def test_nobody_reads_it_without_tls() -> None:
    async with serving(MetricsEndpoint()) as (manager, _):
        status, body = await read(manager.metrics_url.replace("https", "http"))
        assert (status, body) == (400, b"Client sent an HTTP request to an HTTPS server.\n")


async def test_plain_metrics_stay_on_loopback() -> None:
    async with serving(MetricsEndpoint(is_insecure=True)) as (manager, _):
        assert manager.metrics_url.startswith("http://127.0.0.1:")
        status, body = await read(manager.metrics_url)
        assert status == 200
        assert b'workqueue_depth{name="configmap",controller="configmap",priority="0"}' in body
        assert b"rest_client_requests_total{" in body
        bucket = b'controller_runtime_reconcile_time_seconds_bucket{controller="configmap"'
        assert bucket + b',le="0.005"}' in body
    with pytest.raises(ValueError, match="loopback"):
        async with serving(MetricsEndpoint(BindAddress("0.0.0.0"), is_insecure=True)):
            pass


def write(files: CertificateFiles) -> bytes:
    """Put a new certificate there, as a rotated secret does; returns it."""
    certificate, key = generate_self_signed(SystemClock().now())
    for path, content in zip(files, (certificate, key), strict=True):
        fresh = path.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.replace(path)
    return certificate


async def shown(url: str) -> str:
    """A digest of the certificate that a page shows."""
    host, _, port = url.removeprefix("https://").rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=trusting())
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    return hashlib.sha256(der).hexdigest()


def digest(certificate: bytes) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.decode())).hexdigest()


async def test_a_rotated_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    files = CertificateFiles.within(tmp_path)
    first = write(files)
    async with serving(MetricsEndpoint(certificate=files)) as (manager, _):
        url = manager.metrics_url
        assert (await read(url, "prometheus-token", trusting(first)))[0] == 200
        second = write(files)
        assert manager._endpoints is not None
        certificate = manager._endpoints.certificate
        assert certificate is not None
        assert certificate.refresh()
        assert await shown(url) == digest(second)
        assert (await read(url, "prometheus-token", trusting(second)))[0] == 200
        made = generate_self_signed(SystemClock().now())
        for half, content in zip(files, made, strict=True):  # a certificate first, then its key
            before = half.read_bytes()
            half.write_bytes(content)
            with pytest.raises(CertificateError, match=r"tls\.key"):
                certificate.refresh()
            assert await shown(url) == digest(second), "the old one stays in force"
            half.write_bytes(before)
        files.key.write_text("half written")
        with pytest.raises(CertificateError, match=r"tls\.key"):
            certificate.refresh()
        assert await shown(url) == digest(second), "the old one stays in force"


async def test_files_are_looked_at_every_ten_seconds(tmp_path: Path) -> None:
    files, clock = CertificateFiles.within(tmp_path), VirtualClock()
    write(files)
    page = EndpointCertificate(files, clock=clock, log=get_logger("test"))
    async with http.Server(_page) as server:
        listener = await server.listen("127.0.0.1", 0, tls=page.context)
        watching = asyncio.ensure_future(page.run())
        second = write(files)
        await clock.advance(10.5)
        assert await shown(listener.url) == digest(second)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _page(request: http.Request) -> http.Response:
    return http.Response(200, [])


async def test_a_made_certificate_is_renewed_in_time() -> None:
    clock = VirtualClock()
    page = EndpointCertificate(None, clock=clock, log=get_logger("test"))
    assert not page.refresh()
    await clock.advance(200 * 86_400)
    assert not page.refresh()
    await clock.advance(50 * 86_400)
    assert not page.refresh(), "made, and not served yet"
    await clock.advance(3_600)
    assert page.refresh()


async def test_those_who_trust_a_made_certificate_know_the_next_one_in_time() -> None:
    clock = VirtualClock()
    page = EndpointCertificate(None, clock=clock, log=get_logger("test"))
    async with http.Server(_page) as server:
        listener = await server.listen("127.0.0.1", 0, tls=page.context)
        first = page.ca_bundle
        assert await shown(listener.url) == digest(first)
        for days in (244, 244):
            before = page.ca_bundle
            await clock.advance(days * 86_400)
            page.refresh()
            known = page.ca_bundle
            assert known.count(b"BEGIN CERTIFICATE") == 2
            served = await shown(listener.url)
            assert served in list_digests(before), "nothing new is served yet"
            await clock.advance(3_601)
            assert page.refresh()
            renewed = await shown(listener.url)
            assert renewed != served
            assert (
                {served, renewed} == set(list_digests(known)) == set(list_digests(page.ca_bundle))
            )


def list_digests(bundle: bytes) -> list[str]:
    end = b"-----END CERTIFICATE-----\n"
    return [digest(part + end) for part in bundle.split(end) if part]


def test_missing_files_are_named(tmp_path: Path) -> None:
    files = CertificateFiles.within(tmp_path)
    with pytest.raises(CertificateError, match=r"cannot read .*tls\.crt"):
        EndpointCertificate(files, clock=SystemClock(), log=get_logger("test"))
