"""Reads records of another system over HTTP: never from this host, the cluster or its networks.

The name is resolved here, every address is checked, and the connection goes to the address that was
checked, so a name that resolves to another address a moment later has no effect. Redirects are not
followed.
"""

import asyncio
import base64
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from quarterdeck.apis.fleetmanagement.external_sync import HttpSource
from quarterdeck.kit import http, json
from quarterdeck.kit.http.dialer import SocketDialer
from quarterdeck.kit.http.origin import Origin
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.kit.redaction import Masker, Secret
from quarterdeck.operators.pipelines.address import InvalidAddress, split_source_url

MAX_BODY = 10 * 1024 * 1024
TIMEOUT_S = 30.0
_INSIDE = (".svc", ".cluster.local", ".local", ".internal", ".localhost")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name and a port to addresses."""
IsAllowed = Callable[[str], bool]


class SourceError(Exception):
    """Raised when records cannot be read; the message repeats no credentials."""


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses of a name."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SourceError(f"cannot resolve {host}: {error.strerror or error}") from error
    except UnicodeError as error:
        raise SourceError(
            f"cannot resolve {host}: not a host name: {error.__cause__ or error}"
        ) from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet."""
    found = parse_address(address.partition("%")[0])
    if found is None:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast and not found.is_reserved


class PinnedDialer:
    """Connects to one address, whatever the name in the URL resolves to."""

    def __init__(self, address: str, host: str, tls: ssl.SSLContext | None) -> None:
        self._address = address
        self._inner = SocketDialer(tls=tls, proxy=None, server_name=host, timeout_s=TIMEOUT_S)

    async def dial(self, origin: Origin, protocol: asyncio.Protocol) -> None:
        """Connect to the address; certificates are checked for the name."""
        await self._inner.dial(origin._replace(host=self._address), protocol)

    def proxy_headers(self, origin: Origin) -> list[tuple[str, str]] | None:
        """None: no proxy is used, because it would resolve the name itself."""
        return None


class RecordReader:
    """Reads the records of a source."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve_host,
        is_allowed: IsAllowed = is_public,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._resolve = resolve
        self._is_allowed = is_allowed
        self._tls = tls

    async def read(self, source: HttpSource, secret: Mapping[str, bytes]) -> list[dict[str, Any]]:
        """Request the records of a source.

        Raises:
            SourceError: naming what is wrong.
        """
        try:
            parts = split_source_url(source.url)
        except InvalidAddress as error:
            raise SourceError(str(error)) from error
        host, is_tls = parts.hostname or "", parts.scheme == "https"
        if secret and not is_tls:
            raise SourceError("https is required to send credentials")
        port = parts.port or (443 if is_tls else 80)
        address = await self._find_address(host, port)
        tls = (self._tls or ssl.create_default_context()) if is_tls else None
        headers = [("accept", "application/json"), *_authorize(secret)]
        masker = Masker(*(Secret(each.decode("utf-8", "replace")) for each in secret.values()))
        async with http.Client(dialer=PinnedDialer(address, host, tls)) as client:
            try:
                body = b"" if source.method == "POST" else None
                response = await client.request(
                    source.method, source.url, headers=headers, body=body, timeout_s=TIMEOUT_S
                )
                async with response:
                    data = await response.read(MAX_BODY)
            except (http.HttpError, OSError, TimeoutError) as error:
                raise SourceError(f"cannot read {host}: {masker.mask(str(error))}") from error
        if response.status != 200:
            raise SourceError(f"{host} answered HTTP {response.status}, expected 200")
        return pick_records(data, source.records_path)

    async def _find_address(self, host: str, port: int) -> str:
        is_inside = host.endswith(_INSIDE) or not ({".", ":"} & set(host.strip(".")))
        if is_inside and not self._is_allowed(host):
            raise SourceError(f"{host} is a name inside this host or cluster, which is not allowed")
        addresses = await self._resolve(host, port)
        refused = [each for each in addresses if not self._is_allowed(each)]
        if refused or not addresses:
            shown = ", ".join(refused) or "no address"
            raise SourceError(
                f"{host} resolves to {shown}: only public addresses are allowed as a source"
            )
        return addresses[0]


def _authorize(secret: Mapping[str, bytes]) -> list[tuple[str, str]]:
    token = secret.get("bearer-token", b"").decode("utf-8", "replace").strip()
    if token and not (token.isascii() and token.isprintable()):
        raise SourceError(
            "spec.source.secretRef: the value of bearer-token has characters that no token has, "
            "such as line breaks; write it again"
        )
    if token:
        return [("authorization", f"Bearer {token}")]
    if "username" in secret and "password" in secret:
        pair = base64.b64encode(secret["username"] + b":" + secret["password"]).decode()
        return [("authorization", f"Basic {pair}")]
    return []


def pick_records(data: bytes, path: str) -> list[dict[str, Any]]:
    """The list of records in an answer.

    Raises:
        SourceError: if there is none where the path leads.
    """
    try:
        found: Any = json.decode(data)
    except json.JsonError as error:
        raise SourceError("the answer is not JSON") from error
    for name in filter(None, path.split(".")):
        if not isinstance(found, dict) or name not in found:
            raise SourceError(f"recordsPath: the answer has no member {name!r}")
        found = found[name]
    if not isinstance(found, list):
        raise SourceError("recordsPath: must lead to a list of records")
    return [each for each in found if isinstance(each, dict)]
