"""Calls of the bootstrap service; only the root certificate in the seed is trusted."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_S = 30.0
_MAX_BODY = 1 << 20


class Unreachable(Exception):
    """Raised when the service does not answer, or is busy: try again later."""


class Denied(Exception):
    """Raised when the service refuses; trying again does not help."""


class Service:
    """The bootstrap service. The connection is kept: a heartbeat should not cost a handshake."""

    def __init__(self, url: str, trust_bundle: str) -> None:
        self._place = urlsplit(url)
        self._bundle = trust_bundle
        self._connection: http.client.HTTPSConnection | None = None
        self._shown: object = None
        """The certificate that the connection was opened with."""

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        chain: Path | None = None,
        key: Path | None = None,
    ) -> dict[str, Any]:
        """Make one request, with a client certificate if `chain` and `key` are given.

        Raises:
            Unreachable: if it should be repeated later.
            Denied: if it is refused.
        """
        data = None if body is None else json.dumps(body).encode()
        shown = (chain, chain.stat().st_mtime_ns) if chain is not None else None
        was_open = self._connection is not None and shown == self._shown
        try:
            if not was_open:
                self._open(shown, chain, key)
            try:
                status, text = self._exchange(method, path, data)
            except (OSError, http.client.HTTPException):
                if not was_open:
                    raise
                self._open(shown, chain, key)  # the service has closed a connection at rest
                status, text = self._exchange(method, path, data)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(f"{method} {path}: {error}") from error
        return _decode_response(status, text, f"{method} {path}")

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self, shown: object, chain: Path | None, key: Path | None) -> None:
        self.close()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self._bundle)
        if chain is not None and key is not None:
            context.load_cert_chain(chain, key)
        host, port = self._place.hostname or "", self._place.port or 443
        self._connection = http.client.HTTPSConnection(
            host, port, timeout=_TIMEOUT_S, context=context
        )
        self._shown = shown

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        assert self._connection is not None
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        text = answer.read(_MAX_BODY)
        answer.read()  # whatever is left: the connection is used again
        return answer.status, text


def _decode_response(status: int, text: bytes, request: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    elif status in (200, 201, 202):
        return document
    message = f"{request}: {status} {document.get('code', '')}".rstrip()
    if request_id := document.get("requestId"):
        message = f"{message} (request {request_id})"
    if status == 429 or status >= 500:
        raise Unreachable(message)
    raise Denied(message)
