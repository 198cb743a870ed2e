"""Calls of the bootstrap service; it is trusted by the root that came with the seed, alone."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_S = 30.0
_MAX_BODY = 1 << 20


class Unreachable(Exception):
    """Raised when the service does not answer, or asks to come back later: try again."""


class Denied(Exception):
    """Raised when the service refuses; trying again does not help."""


class Service:
    """The bootstrap service."""

    def __init__(self, url: str, trust_bundle: str) -> None:
        self._place = urlsplit(url)
        self._bundle = trust_bundle

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        chain: Path | None = None,
        key: Path | None = None,
    ) -> dict[str, Any]:
        """One request; with a certificate where the service asks for one.

        Raises:
            Unreachable: if it should be repeated later.
            Denied: if it is refused.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self._bundle)
        if chain is not None and key is not None:
            context.load_cert_chain(chain, key)
        host, port = self._place.hostname or "", self._place.port or 443
        connection = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, text = answer.status, answer.read(_MAX_BODY)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
        finally:
            connection.close()
        return _judge(status, text, f"{method} {path}")


def _judge(status: int, text: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = {}
    if status in (200, 201, 202) and isinstance(document, dict):
        return document
    code = document.get("code", "") if isinstance(document, dict) else ""
    request_id = document.get("requestId", "") if isinstance(document, dict) else ""
    message = f"{what}: {status} {code} (request {request_id})"
    if status == 429 or status >= 500:
        raise Unreachable(message)
    raise Denied(message)
