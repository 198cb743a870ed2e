"""Requests to Proxmox VE: forms out, JSON back, and errors in the HTTP reason phrase."""

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from quarterdeck.kit import json
from quarterdeck.kit.http import (
    Client,
    ClientResponse,
    ConnectTimeout,
    HttpError,
    ReadTimeout,
    TlsError,
)
from quarterdeck.kit.redaction import Masker
from quarterdeck.operators.machines.drivers.proxmox.access import Access, choose_access
from quarterdeck.operators.machines.drivers.proxmox.failure import read_failure
from quarterdeck.operators.machines.drivers.proxmox.records import Ticket
from quarterdeck.operators.machines.drivers.proxmox.trust import check_endpoint, open_context
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.ports import ProviderSettings

R = TypeVar("R")
Fields = Mapping[str, str | int]
_BASE = "/api2/json"
_LARGEST_ANSWER = 64 << 20
_REQUEST_S = 110.0
"""Below the operator's own time limit of a call, so that the error names the request."""
_READ_S = 30.0
"""The time that Proxmox VE itself waits for another node."""
_CONNECT_S = 10.0
_REFUSAL_S = 5.0
"""How long to wait for the body of an error; its cause is in the reason phrase already."""
_LOGIN = "/access/ticket"
_FORM = ("content-type", "application/x-www-form-urlencoded")


class Envelope(msgspec.Struct, frozen=True):
    """The members that every response has."""

    data: msgspec.Raw = msgspec.Raw(b"null")
    errors: dict[str, str] = {}
    message: str = ""


def build_path(*parts: str | int) -> str:
    """Build a path; parts are escaped, including slashes and colons."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


class Api:
    """One endpoint with one set of credentials."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._access: Access | None = None
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._timeout_s = min(settings.timeout_s, _REQUEST_S)
        self._masker = Masker(settings.access.password, settings.access.token_secret)

    async def get(self, path: str, kind: type[R], query: Fields | None = None) -> R:
        """Read something.

        Raises:
            HypervisorError: in the class that the answer means.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        return self._convert(await self._send("GET", target), kind, path)

    async def change(self, method: str, path: str, fields: Fields | None = None) -> str:
        """Change something; returns the id of the task that does it, empty if it is done.

        Raises:
            HypervisorError: in the class that the answer means.
        """
        if method == "DELETE":
            target = f"{path}?{urlencode(fields)}" if fields else path
            data = await self._send(method, target)
        else:
            data = await self._send(method, path, urlencode(fields or {}).encode(), _FORM)
        return self._convert(data, str | None, path) or ""  # type: ignore[arg-type]  # a union

    async def upload(self, path: str, fields: Fields, *, name: str, data: bytes) -> str:
        """Send a file; returns the id of the task that stores it."""
        mark = secrets.token_hex(16)
        body = _build_multipart(mark, fields, name=name, data=data)
        kind = ("content-type", f"multipart/form-data; boundary={mark}")
        answer = await self._send("POST", path, body, kind)
        return self._convert(answer, str | None, path) or ""  # type: ignore[arg-type]  # a union

    def mask(self, text: str) -> str:
        """Mask the credentials in a text of the server."""
        return self._masker.mask(text)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _send(
        self, method: str, target: str, body: bytes | None = None, kind: tuple[str, str] = _FORM
    ) -> msgspec.Raw:
        """Send one request; one that is refused with an old ticket is sent again with a new one."""
        if self._access is None:
            self._access = choose_access(self._settings.access, self._settings.clock)
        is_write = method != "GET"
        headers = await self._access.headers(self._log_in, is_write=is_write)
        try:
            return await self._exchange(method, target, body, (*headers, kind))
        except HypervisorError as error:
            if error.code is not Code.UNAUTHORIZED or not self._access.renew(headers):
                raise
        headers = await self._access.headers(self._log_in, is_write=is_write)
        return await self._exchange(method, target, body, (*headers, kind))

    async def _log_in(self, fields: dict[str, str]) -> Ticket:
        data = await self._exchange("POST", _LOGIN, urlencode(fields).encode(), (_FORM,))
        return self._convert(data, Ticket, _LOGIN)

    async def _exchange(
        self, method: str, target: str, body: bytes | None, headers: tuple[tuple[str, str], ...]
    ) -> msgspec.Raw:
        operation = f"{method} {target.partition('?')[0]}"
        client = await self._open_client()
        url = f"{self._settings.endpoint}{_BASE}{target}"
        is_short = method == "GET" or target == _LOGIN
        timeout_s = min(self._timeout_s, _READ_S) if is_short else self._timeout_s
        try:
            response = await client.request(
                method, url, headers=headers, body=body, timeout_s=timeout_s
            )
            content = await _read_body(response)
        except HttpError as error:
            raise _translate(error, operation) from error
        except ValueError as error:  # the endpoint was checked: a header cannot be written
            text = "spec.credentials: a value has characters that no request can carry"
            raise make_error(Code.UNAUTHORIZED, text, operation=operation) from error
        if response.status >= 300:
            content = self._masker.mask_bytes(content)
        return _open_envelope(operation, response, content, self._masker)

    async def _open_client(self) -> Client:
        async with self._opening:
            if self._client is None:
                settings = self._settings
                check_endpoint(settings.endpoint)
                tls = await open_context(
                    settings.endpoint,
                    settings.ca_certificates,
                    is_insecure=settings.is_insecure,
                    timeout_s=_CONNECT_S,
                )
                self._client = Client(
                    tls=tls, pool=16, connect_timeout_s=_CONNECT_S, read_timeout_s=self._timeout_s
                )
            return self._client

    def _convert(self, data: msgspec.Raw, kind: type[R], path: str) -> R:
        try:
            loose: Any = msgspec.json.decode(data)
            return msgspec.convert(loose, kind, strict=False)
        except json.UNREADABLE as error:
            text = f"unexpected response of Proxmox VE to {path}: {error}"
            raise make_error(Code.CONFLICT, text) from error


async def _read_body(response: ClientResponse) -> bytes:
    """Read the body; that of an error is empty if it does not arrive in time.

    Proxmox VE sends some errors without a body and without a length, so that the body would end
    only when the connection does.
    """
    if response.status < 300:
        return await response.read(_LARGEST_ANSWER)
    try:
        async with asyncio.timeout(_REFUSAL_S):
            return await response.read(_LARGEST_ANSWER)
    except (TimeoutError, HttpError):
        return b""


def _open_envelope(
    operation: str, response: ClientResponse, content: bytes, masker: Masker
) -> msgspec.Raw:
    try:
        envelope = msgspec.json.decode(content, type=Envelope) if content else Envelope()
    except json.UNREADABLE as error:
        if response.status < 300:
            text = "the response is not JSON; check that spec.endpoint is a Proxmox VE API"
            raise make_error(Code.UNAVAILABLE, text, operation=operation) from error
        envelope = Envelope()
    if response.status >= 300:
        reason = masker.mask(envelope.message or response.reason)
        raise read_failure(operation, response.status, reason, envelope.errors)
    return envelope.data


def _translate(error: HttpError, operation: str) -> HypervisorError:
    match error:
        case TlsError():
            code = Code.TLS
        case ReadTimeout() | ConnectTimeout():
            code = Code.TIMEOUT
        case _:
            code = Code.UNAVAILABLE
    return make_error(code, str(error), operation=operation)


def _build_multipart(mark: str, fields: Fields, *, name: str, data: bytes) -> bytes:
    parts = [
        f'--{mark}\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    head = (
        f'--{mark}\r\ncontent-disposition: form-data; name="filename"; filename="{name}"\r\n'
        "content-type: application/octet-stream\r\n\r\n"
    )
    return "".join((*parts, head)).encode() + data + f"\r\n--{mark}--\r\n".encode()
