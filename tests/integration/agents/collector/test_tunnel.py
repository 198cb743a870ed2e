"""A hub behind a passthrough route: found by the host that is dialled, checked by another name."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ingester_hub import CLOCK, running_hub

from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.agents.collector.tunnel import matches_name, open_tunnel, split_address
from quarterdeck.agents.collector.uplink import Disconnected, dial
from quarterdeck.inventory.push.messages import ConfigUpdate, RegisterRequest
from quarterdeck.kit.certificate import Certificate, CertificateRequest, issue_certificate
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles
from quarterdeck.services.ingester.server import Ingester

NAME = "clusterpulse-ingester.hub.svc"
DAY = timedelta(days=1)


def make_files(folder: Path) -> tuple[Certificate, TlsFiles]:
    now = CLOCK.now()
    authority = issue_certificate(CertificateRequest("a", DAY, is_authority=True), now=now)
    issued = issue_certificate(CertificateRequest("i", DAY, (NAME,)), now=now, issuer=authority)
    (folder / "ca.crt").write_bytes(authority.encode_certificate())
    (folder / "tls.crt").write_bytes(issued.encode_certificate())
    (folder / "tls.key").write_bytes(issued.encode_key())
    return authority, TlsFiles(certificate=folder / "tls.crt", key=folder / "tls.key")


async def test_the_handshake_names_the_host_and_the_certificate_has_the_other_name(
    tmp_path: Path,
) -> None:
    _, files = make_files(tmp_path)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(files.certificate, files.key)
    seen: list[str | None] = []
    server_side.sni_callback = lambda _, name, __: seen.append(name)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readexactly(4)).upper())
        await writer.drain()
        writer.close()

    trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
    trust.check_hostname = False
    async with await asyncio.start_server(echo, "localhost", 0, ssl=server_side) as server:
        address = f"localhost:{server.sockets[0].getsockname()[1]}"
        async with open_tunnel(address, trust, server_name=NAME) as target:
            assert await ask(target) == b"PING"
        async with open_tunnel(address, trust, server_name="other.hub.svc") as target:
            assert await ask(target) == b""  # closed before anything was sent
    assert seen == ["localhost", "localhost"]


async def test_a_tunnel_to_a_host_that_cannot_be_a_name_closes() -> None:
    trust = ssl.create_default_context()
    trust.check_hostname = False
    async with asyncio.timeout(30), open_tunnel("a..b:1", trust, server_name=NAME) as target:
        assert await ask(target) == b""


@pytest.mark.parametrize("name", ["", NAME], ids=["direct", "tunnel"])
async def test_a_file_that_a_collector_cannot_use_is_named_with_its_variable(
    tmp_path: Path, name: str
) -> None:
    make_files(tmp_path)
    (tmp_path / "garbage").write_text("garbage")

    async def fail(**files: Path) -> str:
        given: dict[str, Any] = {variable: str(path) for variable, path in files.items()}
        settings = CollectorSettings(
            cluster_name="east", ingester_address="127.0.0.1:1", tls_server_name=name, **given
        )
        with pytest.raises(Disconnected) as caught:
            async with dial(settings, on_config=lambda _: None):
                raise AssertionError("connected")
        return str(caught.value)

    garbage, missing = tmp_path / "garbage", tmp_path / "missing"
    assert await fail(tls_authority=garbage) == (
        f"{garbage} (INGESTER_TLS_CA) has no certificates in PEM"
    )
    assert await fail(tls_authority=missing) == (
        f"cannot read {missing} (INGESTER_TLS_CA): No such file or directory"
    )
    authority = tmp_path / "ca.crt"
    found = await fail(tls_authority=authority, tls_certificate=garbage, tls_key=garbage)
    assert found == f"{garbage} (INGESTER_TLS_CLIENT_CERT) does not fit its key"


async def ask(target: str) -> bytes:
    reader, writer = await asyncio.open_connection(*split_address(target))
    writer.write(b"ping")
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def serving(tls: TlsFiles) -> AsyncIterator[tuple[int, str]]:
    async with running_hub() as hub:
        options = IngesterOptions(port=0, tls=tls)
        ingester = Ingester(hub.state, hub.history, options=options, clock=CLOCK)
        async with ingester.running():
            yield ingester.port, await hub.issue("east")


async def register(settings: CollectorSettings) -> bool:
    """Whether the hub answers with its configuration."""
    answered = asyncio.Event()

    def take(_: ConfigUpdate) -> None:
        answered.set()

    with contextlib.suppress(Disconnected):
        async with dial(settings, on_config=take) as uplink, Supervisor("test") as tasks:
            receiving = tasks.spawn(uplink.receive(), name="receive")
            request = RegisterRequest(cluster_name="east", token=settings.token.reveal())
            await uplink.register(request)
            waiting = tasks.spawn(answered.wait(), name="wait")
            await asyncio.wait((receiving, waiting), return_when=asyncio.FIRST_COMPLETED)
            await tasks.cancel_all()
    return answered.is_set()


@pytest.mark.parametrize(
    ("name", "accepted"), [(NAME, True), ("other.hub.svc", False)], ids=["right", "wrong"]
)
async def test_a_collector_checks_the_name_it_was_given(
    tmp_path: Path, name: str, accepted: bool
) -> None:
    _, files = make_files(tmp_path)
    async with serving(files) as (port, token):
        settings = CollectorSettings(
            cluster_name="east",
            ingester_address=f"localhost:{port}",
            token=Secret(token),
            tls_authority=str(tmp_path / "ca.crt"),
            tls_server_name=name,
        )
        assert await register(settings) is accepted


async def test_a_certificate_of_the_collector_passes_the_tunnel(tmp_path: Path) -> None:
    authority, files = make_files(tmp_path)
    mine = issue_certificate(CertificateRequest("east", DAY), now=CLOCK.now(), issuer=authority)
    (tmp_path / "mine.crt").write_bytes(mine.encode_certificate())
    (tmp_path / "mine.key").write_bytes(mine.encode_key())
    tls = TlsFiles(
        certificate=files.certificate, key=files.key, client_authority=tmp_path / "ca.crt"
    )
    async with serving(tls) as (port, token):
        settings = CollectorSettings(
            cluster_name="east",
            ingester_address=f"localhost:{port}",
            token=Secret(token),
            tls_authority=str(tmp_path / "ca.crt"),
            tls_server_name=NAME,
            tls_certificate=str(tmp_path / "mine.crt"),
            tls_key=str(tmp_path / "mine.key"),
        )
        assert await register(settings)


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        (("DNS", "a.hub.svc"), "a.hub.svc", True),
        (("DNS", "A.Hub.svc"), "a.hub.SVC.", True),
        (("DNS", "*.hub.svc"), "a.hub.svc", True),
        (("DNS", "*.hub.svc"), "a.b.hub.svc", False),
        (("DNS", "*"), "hub", False),
        (("DNS", "b.hub.svc"), "a.hub.svc", False),
        (("IP Address", "10.0.0.1"), "10.0.0.1", True),
        (("DNS", "10.0.0.1"), "10.0.0.1", False),
    ],
)
def test_names_of_certificates_match_hosts_without_case(
    names: tuple[str, str], name: str, expected: bool
) -> None:
    assert matches_name({"subjectAltName": (names,)}, name) is expected
    assert not matches_name({}, name)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("hub.example:9443", ("hub.example", 9443)),
        ("hub.example", ("hub.example", 443)),
        ("[::1]:9443", ("::1", 9443)),
        ("hub.example:²", ("hub.example:²", 443)),
    ],
)
def test_addresses_are_split(address: str, expected: tuple[str, int]) -> None:
    assert split_address(address) == expected
