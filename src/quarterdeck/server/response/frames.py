"""Watch frames, encoded once for all watchers with the same form.

With a thousand watchers on one resource each event is encoded once and then only copied to
sockets. The cache is small: watchers read the newest events at about the same time.
"""

import threading
from collections.abc import Callable

from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import decode_stored, encode_served
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Choice, Form
from quarterdeck.server.response import protobuf
from quarterdeck.server.response.forms import build_partial, build_row, build_table, encode_form
from quarterdeck.wire.frame import EventType, encode_event
from quarterdeck.wire.media import PROTOBUF
from quarterdeck.wire.status import ApiError

Encoder = Callable[[EventType, bytes, int], bytes]
"""Encodes an event of an object at a revision; frames of revision 0 are not cached."""

_LIMIT = 1024
_LIMIT_BYTES = 16 * 1024 * 1024


class FrameCache:
    """The frames of the newest events, by revision, type and form.

    It is bounded by number and by size; the oldest frames are dropped first. A frame that exceeds
    the bound is not kept. It is thread-safe: frames of large objects are encoded in threads.
    """

    def __init__(self, limit: int = _LIMIT, *, limit_bytes: int = _LIMIT_BYTES) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._frames: dict[tuple[int, str, str], bytes] = {}
        self._lock = threading.Lock()

    def get(self, revision: int, kind: EventType, form: str, *, make: Callable[[], bytes]) -> bytes:
        """Return the cached frame, or encode it with `make`."""
        key = (revision, kind._value_, form)  # not `value`: this runs for each watcher
        frame = self._frames.get(key)
        if frame is None:
            frame = make()
            with self._lock:
                if key not in self._frames:
                    self._keep(key, frame)
        return frame

    def _keep(self, key: tuple[int, str, str], frame: bytes) -> None:
        self._frames[key] = frame
        self._bytes += len(frame)
        while len(self._frames) > self._limit or self._bytes > self._limit_bytes:
            self._bytes -= len(self._frames.pop(next(iter(self._frames))))

    @property
    def size(self) -> int:
        """The size of all frames in bytes."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._frames)


def is_copied(call: Call) -> bool:
    """Whether objects are sent as they are stored, so that they are not decoded."""
    resource, choice = call.resource, call.choice
    is_plain = choice.form is Form.OBJECT and choice.media != PROTOBUF
    return is_plain and resource.strategy.stored_as_served


def build_encoder(core: Core, call: Call) -> Encoder:
    """Build the encoder for the events of one watch."""
    if call.choice.form is Form.TABLE:
        return _build_table_encoder(core, call)
    resource, choice = call.resource, call.choice
    form = f"{resource.api_version} {choice.form.value} {choice.version} {choice.media}"
    cache = core.frames

    def encode(kind: EventType, value: bytes, revision: int) -> bytes:
        if not revision:
            return _encode_frame(core, resource, choice, kind=kind, value=value)
        return cache.get(
            revision,
            kind,
            form,
            make=lambda: _encode_frame(core, resource, choice, kind=kind, value=value),
        )

    return encode


def _encode_frame(
    core: Core, resource: Resource, choice: Choice, *, kind: EventType, value: bytes
) -> bytes:
    if choice.media == PROTOBUF:
        body = (
            protobuf.encode_stored(resource, value)
            if choice.form is Form.OBJECT
            else protobuf.encode_object(decode_stored(resource, value), choice)
        )
        return protobuf.encode_watch_event(kind, body)
    if choice.form is Form.OBJECT:
        return encode_event(kind, encode_served(resource, value))
    decoded = decode_stored(resource, value)
    return encode_event(kind, encode_form(core, resource, decoded, choice))


def _build_table_encoder(core: Core, call: Call) -> Encoder:
    """Build the encoder of tables of one row; only the first of a stream has column definitions."""
    resource, choice = call.resource, call.choice
    is_first = True

    def encode(kind: EventType, value: bytes, revision: int) -> bytes:
        nonlocal is_first
        decoded = decode_stored(resource, value)
        rows = [build_row(core, resource, decoded, choice=choice)]
        metadata = {"resourceVersion": decoded["metadata"].get("resourceVersion", "")}
        body = build_table(resource, rows, metadata, version=choice.version, with_columns=is_first)
        is_first = False
        return encode_event(kind, kit_json.encode(body))

    return encode


def encode_bookmark(call: Call, value: bytes) -> bytes:
    """Encode the frame of a bookmark: the kind and a version, in the form of the stream."""
    choice = call.choice
    if choice.media == PROTOBUF:
        body = protobuf.encode_object(kit_json.decode(value), choice)
        return protobuf.encode_watch_event(EventType.BOOKMARK, body)
    if choice.form is Form.OBJECT:
        return encode_event(EventType.BOOKMARK, value)
    decoded = kit_json.decode(value)
    shown = build_partial(decoded, choice.version)
    if choice.form is Form.TABLE:
        row = {"cells": [""] * len(call.resource.strategy.columns), "object": shown}
        shown = build_table(
            call.resource, [row], decoded["metadata"], version=choice.version, with_columns=False
        )
    return encode_event(EventType.BOOKMARK, kit_json.encode(shown))


def encode_error(call: Call, error: ApiError) -> bytes:
    """Encode the frame that ends a stream with an error."""
    if call.choice.media == PROTOBUF:
        body = protobuf.encode_document(error.to_status())
        return protobuf.encode_watch_event(EventType.ERROR, body)
    return encode_event(EventType.ERROR, error.encode())


def set_version(value: bytes, revision: int) -> bytes:
    """Set the resourceVersion of a stored object, for the DELETED event if it stops matching."""
    decoded = kit_json.decode(value)
    decoded["metadata"]["resourceVersion"] = str(revision)
    return kit_json.encode(decoded)
