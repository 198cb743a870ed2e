"""TLS of the ingester: on, reloaded, and with certificates of collectors."""

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from ingester_hub import CLOCK, Hub, Wire, running_hub

from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.inventory.push.messages import ConnectRequest, RegisterRequest
from quarterdeck.kit.certificate import Certificate, CertificateRequest, issue_certificate
from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles
from quarterdeck.services.ingester.server import Ingester, ListenFailed

DAY = timedelta(days=1)


def make_authority(name: str) -> Certificate:
    request = CertificateRequest(name, DAY, is_authority=True)
    return issue_certificate(request, now=CLOCK.now())


def write_pair(folder: Path, authority: Certificate) -> TlsFiles:
    issued = issue_certificate(
        CertificateRequest("ingester", DAY, ("localhost", "127.0.0.1")),
        now=CLOCK.now(),
        issuer=authority,
    )
    (folder / "tls.crt").write_bytes(issued.encode_certificate())
    (folder / "tls.key").write_bytes(issued.encode_key())
    return TlsFiles(certificate=folder / "tls.crt", key=folder / "tls.key")


@contextlib.asynccontextmanager
async def serving(hub: Hub, tls: TlsFiles) -> AsyncIterator[Ingester]:
    options = IngesterOptions(port=0, tls=tls)
    ingester = Ingester(hub.state, hub.history, options=options, clock=CLOCK)
    async with ingester.running():
        yield ingester


async def register(port: int, token: str, credentials: grpc.ChannelCredentials) -> bool:
    """Whether a collector that trusts this authority gets its configuration."""
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
        call = channel.stream_stream(METHOD)(metadata=(("authorization", f"Bearer {token}"),))
        wire = Wire(call)
        try:
            await wire.send(ConnectRequest(register=RegisterRequest(cluster_name="east")))
            await wire.receive_config()
        except (grpc.aio.AioRpcError, EOFError):
            return False
        finally:
            call.cancel()
        return True


def trust(authority: Certificate) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(authority.encode_certificate())


async def test_a_new_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    first, second = make_authority("first"), make_authority("second")
    async with running_hub() as hub:
        token = await hub.issue("east")
        async with serving(hub, write_pair(tmp_path, first)) as ingester:
            assert await register(ingester.port, token, trust(first))
            assert not await register(ingester.port, token, trust(second))
            write_pair(tmp_path, second)
            assert await register(ingester.port, token, trust(second))


async def test_a_broken_certificate_leaves_the_old_one(tmp_path: Path) -> None:
    authority = make_authority("first")
    async with running_hub() as hub:
        token = await hub.issue("east")
        async with serving(hub, write_pair(tmp_path, authority)) as ingester:
            (tmp_path / "tls.key").write_bytes(b"half a key")
            assert await register(ingester.port, token, trust(authority))


async def test_collectors_show_a_certificate_where_it_is_asked_for(tmp_path: Path) -> None:
    authority = make_authority("first")
    files = write_pair(tmp_path, authority)
    (tmp_path / "ca.crt").write_bytes(authority.encode_certificate())
    tls = TlsFiles(
        certificate=files.certificate, key=files.key, client_authority=tmp_path / "ca.crt"
    )
    mine = issue_certificate(CertificateRequest("east", DAY), now=CLOCK.now(), issuer=authority)
    with_certificate = grpc.ssl_channel_credentials(
        authority.encode_certificate(), mine.encode_key(), mine.encode_certificate()
    )
    async with running_hub() as hub:
        token = await hub.issue("east")
        async with serving(hub, tls) as ingester:
            assert not await register(ingester.port, token, trust(authority))
            assert await register(ingester.port, token, with_certificate)


async def test_files_that_do_not_fit_are_refused_at_the_start(tmp_path: Path) -> None:
    tls = write_pair(tmp_path, make_authority("first"))
    tls.key.write_bytes(b"no key")
    async with running_hub() as hub:
        with pytest.raises(ListenFailed, match=r"tls\.crt"):
            async with serving(hub, tls):
                pass
