"""Clients for addresses of fleet servers."""

import asyncio
import base64

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.pipelines.address import Address, InvalidAddress
from quarterdeck.operators.pipelines.drivers.http_client import create_http_client


def address(url: str, ca_bundle: str = "") -> Address:
    return Address("default/fleet", url, "user", Secret("password"), ca_bundle=ca_bundle)


@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param("not base64!", id="not base64"),
        pytest.param(base64.b64encode(b"no certificate").decode(), id="not PEM"),
        pytest.param(base64.b64encode("ü".encode()).decode(), id="not ASCII"),
    ],
)
def test_certificates_that_cannot_be_read_are_refused(bundle: str) -> None:
    with pytest.raises(InvalidAddress, match=r"spec.caBundle: must be base64-encoded PEM"):
        create_http_client(address("https://fleet.example.com", bundle), {})


async def test_the_proxy_of_the_environment_is_used_for_https_alone() -> None:
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode().strip())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with proxy:
        where = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        environment = {"HTTPS_PROXY": where, "NO_PROXY": "127.0.0.1"}
        async with create_http_client(address("https://fleet.example.com"), environment) as client:
            with pytest.raises(http.HttpError):
                await client.request("GET", "https://fleet.example.com/")
        assert asked == ["CONNECT fleet.example.com:443 HTTP/1.1"]
