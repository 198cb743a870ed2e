"""`GET /watch`: the current state, then changes, as Server-Sent Events.

The state is sent first by default, so that a late subscriber sees what exists. A heartbeat comment
is sent at once, so that an empty list can be told from a connection that hangs.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import BodyWriter, ConnectionClosed, Request, StreamResponse
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.services.applications.ring import (
    Entry,
    Ring,
    drop_managed_fields,
    encode_frame,
    encode_initial,
)
from quarterdeck.wire.label_selector import Selector, SelectorError
from quarterdeck.wire.query import parse_query
from quarterdeck.wire.status import BadRequest, Expired

HEARTBEAT_S = 15.0
_RETRY = b"retry: 3000\n\n"
_HEARTBEAT = b": heartbeat\n\n"
_HEADERS = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("connection", "keep-alive"),
    ("x-accel-buffering", "no"),
]
_VERSION = re.compile(r"[0-9]{1,20}")
_PARAMETERS = ("namespace", "name", "labelSelector", "resourceVersion", "sendInitialEvents")


class WatchOptions(NamedTuple):
    """The parameters of a watch."""

    namespace: str = ""
    name: str = ""
    selector: Selector | None = None
    after: int | None = None
    """The last resource version it has seen."""
    with_initial: bool = True
    """Whether the current state comes first, as ADDED."""
    with_bookmark: bool = False
    """Whether a BOOKMARK ends the current state."""
    is_return: bool = False
    """Whether the client reconnects, and so cannot have seen a version newer than ours."""

    @classmethod
    def parse(cls, query: str, last_event_id: str | None) -> "WatchOptions":
        """Read a request's parameters; the header of a reconnecting browser wins.

        Raises:
            BadRequest: naming the parameter and its value.
        """
        given = {name: values[-1] for name, values in parse_query(query).items()}
        for name in given:
            if name not in _PARAMETERS:
                known = ", ".join(_PARAMETERS)
                raise BadRequest(f"unknown parameter {name!r}; valid parameters: {known}")
        labels = given.get("labelSelector", "")
        initial = given.get("sendInitialEvents", "").lower()
        if initial not in ("", "true", "false"):
            raise BadRequest(f"invalid sendInitialEvents {initial!r}: must be true or false")
        return cls(
            namespace=given.get("namespace", ""),
            name=given.get("name", ""),
            selector=_parse_selector(labels) if labels else None,
            after=_parse_version(last_event_id or given.get("resourceVersion")),
            with_initial=initial != "false",
            with_bookmark=initial == "true",
            is_return=bool(last_event_id),
        )

    def matches(self, snapshot: Snapshot) -> bool:
        """Whether an object is selected by the parameters."""
        return self._has_key(snapshot) and self._has_labels(snapshot.labels)

    def choose_frame(self, entry: Entry) -> bytes:
        """A change as the listener sees it; empty if it concerns no selected object.

        As with Kubernetes, an object whose labels begin to match is ADDED, and one whose labels no
        longer do is DELETED.
        """
        if not self._has_key(entry.snapshot):
            return b""
        matched, matches = True, self._has_labels(entry.snapshot.labels)
        if entry.type == "MODIFIED" and entry.labels_before is not None:
            matched = self._has_labels(entry.labels_before)
        elif not matches:
            return b""
        if matched and matches:
            return entry.frame
        if not matched and not matches:
            return b""
        type_ = "ADDED" if matches else "DELETED"
        return encode_frame(type_, drop_managed_fields(entry.snapshot), entry.snapshot.version)

    def _has_key(self, snapshot: Snapshot) -> bool:
        key = snapshot.key
        return self.namespace in ("", key.namespace) and self.name in ("", key.name)

    def _has_labels(self, labels: Mapping[str, str]) -> bool:
        return self.selector is None or self.selector.matches(labels)


def _parse_selector(text: str) -> Selector:
    try:
        return Selector.parse(text)
    except SelectorError as error:
        raise BadRequest(f"invalid labelSelector {text!r}: {error}") from error


def _parse_version(text: str | None) -> int | None:
    if not text:
        return None
    if not _VERSION.fullmatch(text):
        raise BadRequest(
            f"invalid resourceVersion {text!r}: must be a number, such as the id of an event"
        )
    return int(text)


class Streams:
    """Serves the ring and the cache to listeners."""

    def __init__(
        self,
        ring: Ring,
        cache: Cache[Application],
        clock: Clock,
        *,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._ring = ring
        self._cache = cache
        self._clock = clock
        self._heartbeat_s = heartbeat_s

    def open(self, request: Request, options: WatchOptions) -> StreamResponse:
        """The endless answer to one request."""

        async def run(writer: BodyWriter) -> None:
            listener = _Listener(options, writer, ring=self._ring, cache=self._cache)
            await listener.run(request, clock=self._clock, heartbeat_s=self._heartbeat_s)

        return StreamResponse(200, _HEADERS, run)


class _Listener:
    """One open stream. It waits on one event, set by changes, timers and the end of the peer."""

    def __init__(
        self, options: WatchOptions, writer: BodyWriter, *, ring: Ring, cache: Cache[Application]
    ) -> None:
        self._options = options
        self._writer = writer
        self._ring = ring
        self._cache = cache
        self._wake = asyncio.Event()
        self._is_over = False
        self._is_heartbeat_due = False
        self._position = ring.end

    async def run(self, request: Request, *, clock: Clock, heartbeat_s: float) -> None:
        """Write until the peer disconnects or the server shuts down."""
        self._ring.subscribe(self._wake)
        try:
            async with Supervisor("listener") as tasks:
                tasks.spawn(self._wait_until_gone(request), name="listener-peer")
                tasks.spawn(self._wait_until_closing(), name="listener-closing")
                tasks.spawn(self._send_heartbeats(clock, heartbeat_s), name="listener-heartbeat")
                await self._begin()
                while not self._is_over:
                    await self._wake.wait()
                    self._wake.clear()
                    await self._write_changes()
        except ConnectionClosed:
            return
        finally:
            self._ring.unsubscribe(self._wake)

    async def _begin(self) -> None:
        await self._writer.write(_RETRY + _HEARTBEAT)
        if self._options.after is not None:
            synced = self._cache.version(self._options.namespace)
            position = self._ring.find_position(self._options.after, synced=synced)
            if position is None or (self._options.is_return and self._options.after > synced):
                await self._resync()
            else:
                self._position = position
                self._wake.set()
        elif self._options.with_initial:
            await self._write_state()
            if self._options.with_bookmark:
                await self._write_bookmark()

    async def _write_bookmark(self) -> None:
        version = self._cache.version(self._options.namespace)
        bookmark = {"metadata": {"resourceVersion": str(version)}}
        await self._writer.write(encode_frame("BOOKMARK", bookmark, version))

    async def _write_changes(self) -> None:
        if self._is_heartbeat_due:
            self._is_heartbeat_due = False
            await self._writer.write(_HEARTBEAT)
        entries = self._ring.list_from(self._position)
        if entries is None:
            await self._resync()
            return
        for entry in entries:
            self._position = entry.position + 1
            if data := self._options.choose_frame(entry):
                await self._writer.write(data)

    async def _resync(self) -> None:
        """Send an error that changes were missed, then the current state."""
        error = Expired("too old resource version: the current state follows")
        await self._writer.write(encode_frame("ERROR", error.to_status()))
        await self._write_state()

    async def _write_state(self) -> None:
        self._position = self._ring.end
        wanted: Iterable[Snapshot] = [
            s for s in self._cache.snapshots() if self._options.matches(s)
        ]
        for data in encode_initial(wanted):
            await self._writer.write(data)
        self._wake.set()

    async def _wait_until_gone(self, request: Request) -> None:
        await request.wait_disconnect()
        self._end()

    async def _wait_until_closing(self) -> None:
        await self._writer.closing.wait()
        self._end()

    def _end(self) -> None:
        self._is_over = True
        self._wake.set()

    async def _send_heartbeats(self, clock: Clock, heartbeat_s: float) -> None:
        while True:
            await clock.sleep(heartbeat_s)
            self._is_heartbeat_due = True
            self._wake.set()
