"""Journals of operators in other processes.

Operators serve `/explain` beside their metrics, over TLS and to callers whom the API server
authorizes. A name with several addresses stands for several replicas: all are asked, because only
the replica that leads, or that has the shard of an object, has worked on it.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from quarterdeck.kit import http, json
from quarterdeck.meta.identity import Key

TIMEOUT_S = 5.0
_MAX_ANSWER_BYTES = 8 * 1024 * 1024

Authorize = Callable[[], Awaitable[str]]
"""The `Authorization` header of this process."""


class JournalsUnreachable(Exception):
    """Raised when no operator answers; the message has the addresses and causes."""


class RemoteJournals:
    """Reads the reconciles of an object from operators."""

    def __init__(
        self, urls: Sequence[str], *, authorize: Authorize, tls: ssl.SSLContext | None = None
    ) -> None:
        self._urls = [each.rstrip("/") for each in urls]
        self._authorize = authorize
        self._tls = tls

    async def explain(self, kind: str, key: Key) -> list[dict[str, Any]]:
        """The reconciles of an object, one entry for each controller.

        Raises:
            JournalsUnreachable: if no operator answers.
        """
        path = "/".join(quote(each, safe="") for each in (kind, key.namespace, key.name) if each)
        headers = [("Authorization", await self._authorize())]
        asked = [self._read_replicas(url, f"/explain/{path}", headers) for url in self._urls]
        found = [each for answers in await asyncio.gather(*asked) for each in answers]
        problems = [each for each in found if isinstance(each, str)]
        answers = [each for each in found if not isinstance(each, str)]
        if problems and not answers:
            raise JournalsUnreachable(
                f"cannot read explanations from any operator: {'; '.join(problems)}"
            )
        return merge_controllers(each for answer in answers for each in answer)

    async def _read_replicas(
        self, url: str, path: str, headers: list[tuple[str, str]]
    ) -> list[list[dict[str, Any]] | str]:
        """The answer of every replica behind an address, or why there is none."""
        parts = urlsplit(url)
        try:
            places = await _resolve(parts.hostname or "", parts.port or 443)
        except OSError as error:
            return [f"{url}: {error}"]
        async with http.Client(tls=self._tls, server_name=parts.hostname) as client:
            asked = (_fetch(client, f"{parts.scheme}://{place}{path}", headers) for place in places)
            return list(await asyncio.gather(*asked))


async def _resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = {str(each[4][0]) for each in found}
    return [f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for each in sorted(addresses)]


async def _fetch(
    client: http.Client, url: str, headers: list[tuple[str, str]]
) -> list[dict[str, Any]] | str:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            response = await client.request("GET", url, headers=headers)
            body = await response.read(_MAX_ANSWER_BYTES)
    except (http.HttpError, OSError, TimeoutError) as error:
        return f"{url}: {error or 'timed out'}"
    try:
        document = json.decode(body)
    except json.JsonError:
        return f"{url}: status {response.status}"
    if response.status == 404 and isinstance(document, dict):
        return []  # its operators have no controller of this kind
    if response.status != 200:
        return f"{url}: status {response.status}"
    found: list[dict[str, Any]] = document["controllers"]
    return found


def merge_controllers(controllers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each controller, with the reconciles of all replicas, newest first."""
    merged: dict[str, list[dict[str, Any]]] = {}
    for each in controllers:
        merged.setdefault(each["controller"], []).extend(each["reconciles"])
    for reconciles in merged.values():
        reconciles.sort(key=lambda record: str(record["startedAt"]), reverse=True)
    return [{"controller": name, "reconciles": found} for name, found in merged.items()]
