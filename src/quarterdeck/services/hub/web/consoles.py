"""`GET /console`: streams the serial console of a machine.

A console can show secrets of a machine, so reading it is a right of its own: `get` on
`machineclaims/console`, which the API server checks for the viewer.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qs

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import create, get
from quarterdeck.client.transport import Transport
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import BodyWriter, ConnectionClosed, Request, Response, StreamResponse
from quarterdeck.meta.identity import Key
from quarterdeck.services.hub.web.kube_proxy import HEADERS, JSON
from quarterdeck.services.hub.web.viewer import IsValid, Transports, Viewer
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, GetOptions
from quarterdeck.wire.status import ApiError, BadRequest, Forbidden, NotFound, ServiceUnavailable

PATH = "/console"
SHOWN_BYTES = 64 * 1024
"""Bytes from the end of the console that are sent first."""
CHECK_S = 30.0
"""Seconds between two checks of the viewer's right to a console that is streamed."""
_CHECK_INTERVAL_S = 0.5
_CLAIMS = ("hypervisor.hyperfleet.io", "machineclaims")
_REVIEWS = ResourcePath("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")

Locate = Callable[[Key], Awaitable[Path | str]]
"""Finds the console of a claim's machine: a file on this host, or the URL of a remote console.
Raises `ConsoleMissing`."""


class ConsoleMissing(Exception):
    """Raised when a machine has no readable console; the message has the cause."""


class Consoles:
    """Answers `/console`."""

    def __init__(self, transports: Transports, locate: Locate | None, *, clock: Clock) -> None:
        """`locate` is None if the operators run in another process."""
        self._transports = transports
        self._locate = locate
        self._clock = clock

    async def handle(
        self, request: Request, viewer: Viewer, *, is_valid: IsValid
    ) -> Response | StreamResponse:
        """Stream the console of the machine that `path` names, until the browser disconnects.

        The stream also ends at most CHECK_S after the viewer logs out or loses the right to it.

        Raises:
            BadRequest: if `path` names no MachineClaim.
            Forbidden: if the viewer may not read the claim or its console.
            NotFound: if there is no console.
        """
        path = paths.parse((parse_qs(request.query).get("path") or [""])[0])
        if path is None or not path.name or (path.group, path.resource) != _CLAIMS:
            raise BadRequest("path must name one MachineClaim")
        await self._check(viewer, path)
        found = await self._find(Key(path.namespace, path.name))
        if isinstance(found, str):
            return Response(200, [JSON, *HEADERS], json.encode({"url": found}))

        async def may_read() -> bool:
            with contextlib.suppress(ApiError):
                if await is_valid():
                    await self._check(viewer, path)
                    return True
            return False

        async def run(writer: BodyWriter) -> None:
            await self._follow(found, writer, may_read)

        return StreamResponse(200, [_TEXT, *HEADERS], run)

    async def _check(self, viewer: Viewer, path: ResourcePath) -> None:
        """Refuse viewers who may not read a claim and its console."""
        transport = await self._transports.get(viewer)
        try:
            await transport.send(get(path, GetOptions()))
            await _check_right(transport, path)
        except ClientError as error:
            raise ServiceUnavailable(str(error)) from error

    async def _find(self, claim: Key) -> Path | str:
        if self._locate is None:
            raise NotFound(
                "consoles are kept where the operators run: use `quarterdeck machines console`"
            )
        try:
            return await self._locate(claim)
        except ConsoleMissing as error:
            raise NotFound(str(error)) from error

    async def _follow(self, path: Path, writer: BodyWriter, may_read: IsValid) -> None:
        """Stream the end of a file and its additions while it exists and the viewer may read it."""
        tail = Tail(path)
        checked = self._clock.monotonic()
        with contextlib.suppress(ConnectionClosed, FileNotFoundError):
            while not writer.closing.is_set():
                await writer.write(await asyncio.to_thread(tail.read))
                await self._clock.sleep(_CHECK_INTERVAL_S)
                if self._clock.monotonic() - checked >= CHECK_S:
                    if not await may_read():
                        return
                    checked = self._clock.monotonic()


class Tail:
    """Reads what was added to a file; a file that became shorter is read from its beginning."""

    def __init__(self, path: Path, *, shown_bytes: int = SHOWN_BYTES) -> None:
        self._path = path
        self._shown_bytes = shown_bytes
        self._offset: int | None = None

    def read(self) -> bytes:
        """Read what was added since the last call, at most the last `shown_bytes`.

        Raises:
            FileNotFoundError: if the file is gone after it was there.
        """
        try:
            with self._path.open("rb") as file:
                return self._read(file)
        except FileNotFoundError:
            if self._offset is None:
                return b""  # the machine has not started yet
            raise

    def _read(self, file: BinaryIO) -> bytes:
        size = file.seek(0, os.SEEK_END)
        start = self._offset if self._offset is not None and self._offset <= size else 0
        start = file.seek(max(start, size - self._shown_bytes))
        data = file.read(size - start)
        self._offset = start + len(data)
        return data


async def _check_right(transport: Transport, path: ResourcePath) -> None:
    attributes = {
        "verb": "get",
        "group": path.group,
        "resource": path.resource,
        "subresource": "console",
        "namespace": path.namespace,
        "name": path.name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    body = await transport.send(create(_REVIEWS, json.encode(review), CreateOptions()))
    if not (json.decode(body).get("status") or {}).get("allowed"):
        raise Forbidden(
            f"reading the console of machine {path.name} is forbidden: the verb get on "
            "machineclaims/console is required"
        )
