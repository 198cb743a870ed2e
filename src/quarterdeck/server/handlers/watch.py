"""GET with `watch`: a stream of changes to the objects that a request selects.

The path of an event: the store passes a batch to the watcher, the selection decides which event the
client gets (an object that stops matching is DELETED for it), the frame is encoded once for all
watchers of the same form, and is written without waiting. A client that reads too slowly is dropped
by the store and resumes from the last version it received.

When the definition of a custom kind changes its rules, the watches of the kind end at once, and
cannot resume from a version before the change: the client lists again, under the new schema. When
the kind is no longer served they end after the last events of its objects.
"""

import functools

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.core.timers import Timer
from quarterdeck.server.read.page import collect_page
from quarterdeck.server.read.resource_version import parse_version, wait_for_version
from quarterdeck.server.read.selection import Selection, parse_selection
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import frames, responses
from quarterdeck.storage import Closed, Compacted, Entry, SlowWatcher, StoreEvent, Watcher
from quarterdeck.wire.frame import INITIAL_EVENTS_END, EventType
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, Expired

_LAST_BOOKMARK_S = 2.0
_INITIAL_BATCH = 128
_BATCH = 16
"""Events that are encoded at once if they are small; more are encoded in slices."""


async def handle(core: Core, call: Call, options: ListOptions) -> responses.Response:
    """Open the stream; errors of the request are answered before the stream begins."""
    selection = parse_selection(call, options)
    version = parse_version(options.resource_version)
    wants_state = _wants_state(options, version)
    if version:
        # A version that never comes, because its writes were lost, must not wait for ever.
        await wait_for_version(core, options.resource_version)
    initial: list[Entry] = []
    after = version or core.store.revision
    if wants_state:
        snapshot = core.store.snapshot()
        after = snapshot.revision
        initial = (await collect_page(core, snapshot, selection)).entries
    stream = WatchStream(core, call, selection, options=options, after=after, initial=initial)
    return http.StreamResponse(200, responses.build_watch_headers(call), stream.run)


def _wants_state(options: ListOptions, version: int) -> bool:
    """Whether the stream begins with the existing objects."""
    if options.send_initial_events is not None:
        return options.send_initial_events
    return version == 0


class WatchStream:
    """One client's watch, from its first byte to its end."""

    def __init__(
        self,
        core: Core,
        call: Call,
        selection: Selection,
        *,
        options: ListOptions,
        after: int,
        initial: list[Entry],
    ) -> None:
        self._core = core
        self._call = call
        self._selection = selection
        self._options = options
        self._after = after
        self._initial = initial
        self._encode = frames.build_encoder(core, call)
        self._is_copied = frames.is_copied(call) and selection.fields is None
        self._watcher: Watcher | None = None
        self._writer: http.BodyWriter | None = None
        self._timers: list[Timer] = []
        self._is_live = False
        self._unsubscribe = _do_nothing

    def close(self) -> None:
        """End the stream cleanly; may be called more than once."""
        if self._watcher is not None:
            self._watcher.close()

    async def run(self, writer: http.BodyWriter) -> None:
        """Write the stream until it times out, the client disconnects or the server stops.

        The watcher is opened only here, so that a client that has disconnected before costs
        nothing; events since the initial state was read come from the history of the store.
        """
        self._writer = writer
        try:
            self._watcher = self._open_watcher()
            self._core.streams.add(self)
            self._follow_definition()
            self._set_timers()
            await self._write_initial(writer)
            await self._write_events(writer, self._watcher)
        except (http.ConnectionClosed, Closed):
            return
        except SlowWatcher:
            return  # the client resumes from the last version it saw
        except Compacted as error:
            text = f"too old resource version: {error.requested} ({error.oldest})"
            writer.write_nowait(frames.encode_error(self._call, Expired(text)))
        except ApiError as error:
            # an object cannot be converted: the client hears why, and watches again
            writer.write_nowait(frames.encode_error(self._call, error))
        finally:
            self._finish()

    def _open_watcher(self) -> Watcher:
        resource = self._selection.resource
        if self._after < resource.definition_revision:
            raise Compacted(self._after, resource.definition_revision)
        return self._core.store.watch(
            resource.stored_name,
            after=self._after,
            namespace=self._selection.namespace,
            buffer=self._core.options.watch_buffer_events,
        )

    def _follow_definition(self) -> None:
        """End the stream when its definition changes; it may have changed since the request."""
        if self._selection.resource.is_custom:
            gvr = self._selection.resource.gvr
            self._unsubscribe = self._core.registry.subscribe(gvr, self._on_definition_change)
            self._on_definition_change()

    def _on_definition_change(self) -> None:
        resource = self._selection.resource
        current = self._core.registry.get(resource.gvr)
        if current is None and self._watcher is not None:
            self._watcher.finish()
        elif current is not None and current.definition_revision != resource.definition_revision:
            self.close()

    def _finish(self) -> None:
        self._unsubscribe()
        for timer in self._timers:
            timer.cancel()
        self.close()
        self._core.streams.discard(self)
        self._core.watch_buffers.forget(self)

    async def _write_initial(self, writer: http.BodyWriter) -> None:
        turns = TimeSlice(self._core)
        entries, self._initial = self._initial, []
        for start in range(0, len(entries), _INITIAL_BATCH):
            parts = [
                await self._encode_initial(entry, turns)
                for entry in entries[start : start + _INITIAL_BATCH]
            ]
            await writer.write(b"".join(parts))
            await turns.yield_if_due()
        if self._options.send_initial_events and self._options.allow_watch_bookmarks:
            writer.write_nowait(self._encode_bookmark({INITIAL_EVENTS_END: "true"}))
        self._is_live = True

    async def _encode_initial(self, entry: Entry, turns: TimeSlice) -> bytes:
        value = entry.value
        if self._is_copied:
            return self._encode(EventType.ADDED, value, 0)
        await turns.yield_if_due()
        return await self._core.worker.run(
            len(value), lambda: self._encode(EventType.ADDED, value, 0)
        )

    async def _write_events(self, writer: http.BodyWriter, watcher: Watcher) -> None:
        buffers, resource = self._core.watch_buffers, self._selection.resource
        async for batch in watcher:
            if resource.converter is None and self._is_small(batch):
                data = b"".join([self._encode_event(event) for event in batch])
            else:
                data = await self._encode_apart(resource, batch)
            if data and buffers.is_full(self, writer.write_nowait(data)):
                await writer.write(b"")
                buffers.is_full(self, writer.buffered)

    def _is_small(self, batch: list[StoreEvent]) -> bool:
        """Whether a batch is small enough to encode it without yielding to other requests."""
        if len(batch) > _BATCH:
            return False
        if self._is_copied and self._selection.is_everything:
            return True
        limit = self._core.options.inline_bytes
        return sum([_weigh(event) for event in batch]) <= limit

    async def _encode_apart(self, resource: Resource, batch: list[StoreEvent]) -> bytes:
        """Encode events in slices, and large ones in a thread.

        Meanwhile no bookmark is sent: the watcher is ahead of what is written, so a bookmark would
        claim events that the client has not received.
        """
        self._is_live = False
        try:
            if resource.converter is not None:
                batch = await self._core.conversions.convert_events(resource, batch)
            turns, parts = TimeSlice(self._core), []
            for event in batch:
                encode = functools.partial(self._encode_event, event)
                size = 0 if self._is_copied else _weigh(event)
                parts.append(await self._core.worker.run(size, encode))
                await turns.yield_if_due()
        finally:
            self._is_live = True
        return b"".join(parts)

    def _encode_event(self, event: StoreEvent) -> bytes:
        """Encode an event as this client must see it; empty if the object never matched."""
        before, after = event.before, event.after
        is_match = after is not None and self._selection.matches(after)
        if after is not None and is_match:
            was_match = before is not None and self._selection.matches(before)
            kind = EventType.MODIFIED if was_match else EventType.ADDED
            return self._encode(kind, after.value, event.revision)
        if before is None or not self._selection.matches(before):
            return b""
        if after is None and event.tombstone is not None:
            return self._encode(EventType.DELETED, event.tombstone, event.revision)
        value = frames.set_version(before.value, event.revision)
        return self._encode(EventType.DELETED, value, event.revision)

    def _set_timers(self) -> None:
        core, timers = self._core, self._core.timers
        seconds = self._options.timeout_seconds
        if not seconds:
            base = core.options.watch_timeout_s
            seconds_left = base + core.random.random() * base
        else:
            seconds_left = float(seconds)
        self._timers.append(timers.call_later(seconds_left, self._end))
        if self._options.allow_watch_bookmarks:
            last = seconds_left - _LAST_BOOKMARK_S
            if last > 0:
                self._timers.append(timers.call_later(last, self._write_bookmark))
            self._schedule_bookmark()

    def _schedule_bookmark(self) -> None:
        interval = self._core.options.bookmark_interval_s
        timer = self._core.timers.call_later(interval, self._on_interval)
        self._timers = [each for each in self._timers if not each.is_cancelled]
        self._timers.append(timer)

    def _on_interval(self) -> None:
        self._write_bookmark()
        self._schedule_bookmark()

    def _end(self) -> None:
        self.close()

    def _write_bookmark(self) -> None:
        if self._writer is None or not self._is_live:
            return  # its version would include initial objects that are not sent yet
        try:
            self._writer.write_nowait(self._encode_bookmark({}))
        except http.ConnectionClosed:
            self.close()

    def _encode_bookmark(self, annotations: dict[str, str]) -> bytes:
        resource = self._call.resource
        position = self._watcher.position if self._watcher is not None else self._after
        metadata: dict[str, object] = {
            "resourceVersion": str(position),
            "creationTimestamp": None,
        }
        if annotations:
            metadata["annotations"] = annotations
        value = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return frames.encode_bookmark(self._call, kit_json.encode(value))


def _do_nothing() -> None:
    """Do nothing; used until the stream subscribes to its definition."""


def _weigh(event: StoreEvent) -> int:
    """Return how many bytes are decoded to encode an event."""
    before = event.before
    return event.size if before is None else max(event.size, len(before.value))
