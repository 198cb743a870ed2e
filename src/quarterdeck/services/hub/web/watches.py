"""Several watches and the hub's events in one stream of server-sent events.

Browsers allow six connections to a host, and a page follows more kinds than that. The page asks
for `GET /watch?w=ID~FORM~TARGET&w=…&hub=1`; TARGET is a path of the Kubernetes API with its query,
FORM is `table` or `object`. Each event names the watch it is of. The page remembers the newest
resourceVersion of every watch and opens the stream again from there when it was cut.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import ApiRequest
from quarterdeck.client.transport import Transport
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import BodyWriter, ConnectionClosed, HttpError, Request, StreamResponse
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub.web import secret_mask
from quarterdeck.services.hub.web.kube_proxy import is_clean
from quarterdeck.services.hub.web.viewer import IsValid, Transports, Viewer
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ApiError, BadRequest, ServiceUnavailable

PATH = "/watch"
HEARTBEAT_S = 15.0
MAX_WATCHES = 64
HUB = "hub"
"""What the end of the hub's events is named by, in place of the identifier of a watch."""
_NAME = re.compile("[a-z0-9.-]+")
_HEADERS = [
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
]
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_FORMS = {"table": _TABLE, "object": "application/json"}
_OPEN = b"retry: 1000\nevent: open\ndata: {}\n\n"
_HEARTBEAT = b"event: heartbeat\ndata: {}\n\n"


class WatchRequest(NamedTuple):
    """One watch of a stream."""

    identifier: str
    target: str
    accept: str
    path: ResourcePath


def parse_watches(query: str) -> list[WatchRequest]:
    """The watches that a query names.

    Raises:
        BadRequest: naming the one that is wrong.
    """
    values = [value for name, value in parse_qsl(query) if name == "w"]
    if len(values) > MAX_WATCHES:
        raise BadRequest(f"{len(values)} watches are asked for; at most {MAX_WATCHES} are served")
    return [_parse_watch(value) for value in values]


def _parse_watch(value: str) -> WatchRequest:
    identifier, _, rest = value.partition("~")
    form, _, target = rest.partition("~")
    raw, _, query = target.partition("?")
    decoded = unquote(raw)
    path = paths.parse(decoded) if is_clean(decoded) else None
    if path is None or form not in _FORMS or not identifier.isalnum() or not _is_plain(path):
        raise BadRequest(f"invalid w={value!r}: expected ID~table|object~PATH of a resource")
    pairs = [each for each in parse_qsl(query) if each[0] not in ("watch", "allowWatchBookmarks")]
    pairs += [("watch", "true"), ("allowWatchBookmarks", "true")]
    return WatchRequest(identifier, f"{paths.build(path)}?{urlencode(pairs)}", _FORMS[form], path)


def _is_plain(path: ResourcePath) -> bool:
    """Whether a path names a resource without a subresource; `proxy` and others are refused."""
    names = (path.group or "core", path.version, path.resource)
    return not path.subresource and all(_NAME.fullmatch(each) for each in names)


class Watches:
    """Serves streams."""

    def __init__(
        self, transports: Transports, *, clock: Clock, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self._transports = transports
        self._clock = clock
        self._heartbeat_s = heartbeat_s

    async def open(
        self,
        request: Request,
        viewer: Viewer,
        *,
        is_valid: IsValid,
        hub: StreamResponse | None,
    ) -> StreamResponse:
        """The endless answer to one request; `hub` is the hub's own stream, if it was asked for.

        It ends at a heartbeat at which the viewer is not logged in any more.

        Raises:
            BadRequest: if the query names no valid watches.
        """
        wanted = parse_watches(request.query)
        transport = await self._transports.get(viewer)

        async def run(writer: BodyWriter) -> None:
            with contextlib.suppress(ConnectionClosed):
                await writer.write(_OPEN)
                beats = self._send_heartbeats(writer, is_valid)
                await self._run(request, writer, transport, wanted=wanted, hub=hub, beats=beats)

        return StreamResponse(200, list(_HEADERS), run)

    async def _run(
        self,
        request: Request,
        writer: BodyWriter,
        transport: Transport,
        *,
        wanted: Sequence[WatchRequest],
        hub: StreamResponse | None,
        beats: Awaitable[None],
    ) -> None:
        over = asyncio.Event()
        async with Supervisor("dashboard-stream") as tasks:
            tasks.spawn(_set_after(request.wait_disconnect(), over), name="stream-peer")
            tasks.spawn(_set_after(writer.closing.wait(), over), name="stream-closing")
            tasks.spawn(_end_with(beats, over), name="stream-heartbeat")
            for each in wanted:
                work = _forward(transport, each, writer)
                tasks.spawn(_end_with(work, over, keep=True), name=f"stream-{each.identifier}")
            if hub is not None:
                work = _forward_hub(hub, writer)
                tasks.spawn(_end_with(work, over, keep=True), name="stream-hub")
            await over.wait()

    async def _send_heartbeats(self, writer: BodyWriter, is_valid: IsValid) -> None:
        while True:
            await self._clock.sleep(self._heartbeat_s)
            if not await is_valid():
                return
            await writer.write(_HEARTBEAT)


async def _forward(transport: Transport, wanted: WatchRequest, writer: BodyWriter) -> None:
    """Send the lines of one watch until it ends, then an event with the reason."""
    asked = ApiRequest(
        verb="watch",
        method="GET",
        path=wanted.path,
        target=wanted.target,
        headers=[("accept", wanted.accept)],
    )
    try:
        async with transport.stream(asked) as lines:
            async for line in _mask_lines(lines, wanted):
                head = b'event: watch\ndata: {"w":"%s","e":' % wanted.identifier.encode()
                await writer.write(b"%s%s}\n\n" % (head, line.rstrip()))
        ending: dict[str, object] = {"w": wanted.identifier}
    except ApiError as error:
        ending = {"w": wanted.identifier, "error": error.to_status()}
    except (ClientError, HttpError) as error:
        if isinstance(error, ConnectionClosed):
            raise
        status = ServiceUnavailable(str(error)).to_status()
        ending = {"w": wanted.identifier, "error": status}
    await writer.write(b"event: end\ndata: %s\n\n" % json.encode(ending))


async def _forward_hub(hub: StreamResponse, writer: BodyWriter) -> None:
    """Send the hub's events until they end, for example with the connection to its store."""
    await hub.run(writer)
    await writer.write(b"event: end\ndata: %s\n\n" % json.encode({"w": HUB}))


async def _mask_lines(lines: AsyncIterator[bytes], wanted: WatchRequest) -> AsyncIterator[bytes]:
    masked = secret_mask.is_about_secrets(wanted.path)
    async for line in lines:
        yield secret_mask.mask(line) if masked else line


async def _set_after(work: Awaitable[object], event: asyncio.Event) -> None:
    await work
    event.set()


async def _end_with(work: Awaitable[object], over: asyncio.Event, *, keep: bool = False) -> None:
    """Run one part of a stream. Its end ends the stream; with `keep` only a lost peer does."""
    try:
        await work
    except ConnectionClosed:
        over.set()
    if not keep:
        over.set()
