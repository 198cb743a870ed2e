"""Responses in Kubernetes' protobuf encoding, which client-go requests by default.

Built-in kinds, PartialObjectMetadata and Status have protobuf messages; Tables and custom objects
have none. Objects are stored as JSON, so each one is decoded first.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from quarterdeck.meta.builtins import protobuf_writer
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.request.negotiation import Choice, Form
from quarterdeck.wire.media import PROTOBUF

_NO_CACHE = ("Cache-Control", "no-cache, private")
HEADERS = [_NO_CACHE, ("Content-Type", PROTOBUF)]
STREAM_HEADERS = [_NO_CACHE, ("Content-Type", f"{PROTOBUF};stream=watch")]
_PARTIAL = "PartialObjectMetadata"

encode_document = protobuf_writer.encode
encode_watch_event = protobuf_writer.encode_watch_event


def encode_object(value: Object, choice: Choice) -> bytes:
    """Encode one object, or its metadata."""
    if choice.form is Form.METADATA:
        message = _encode_partial(value)
        return protobuf_writer.wrap(f"meta.k8s.io/{choice.version}", _PARTIAL, message)
    return protobuf_writer.encode(value)


def encode_stored(resource: Resource, value: bytes) -> bytes:
    """Encode an object as it is stored."""
    message = _encode_message(resource, value)
    return protobuf_writer.wrap(resource.api_version, resource.kind, message)


def build_item_encoder(resource: Resource, choice: Choice) -> Callable[[bytes], bytes]:
    """Build how the stored items of a list are encoded: without an envelope."""
    if choice.form is Form.METADATA:
        return lambda value: _encode_partial(decode_stored(resource, value))
    return functools.partial(_encode_message, resource)


def _encode_message(resource: Resource, value: bytes) -> bytes:
    """Encode a stored object; one that is read again is not encoded again."""

    def make(stored: bytes) -> bytes:
        name = protobuf_writer.find_message_type(resource.api_version, resource.kind)
        assert name is not None  # negotiation offers protobuf for kinds of the table alone
        return protobuf_writer.encode_message(name, decode_stored(resource, stored))

    return resource.messages.get(value, make)


def encode_list(
    resource: Resource, choice: Choice, items: Sequence[bytes], *, metadata: dict[str, Any]
) -> bytes:
    """Encode a list of items that are encoded already."""
    kind, api_version = resource.list_kind, resource.api_version
    if choice.form is Form.METADATA:
        kind, api_version = f"{_PARTIAL}List", f"meta.k8s.io/{choice.version}"
    return protobuf_writer.wrap_list(api_version, kind, metadata, items)


def _encode_partial(value: Object) -> bytes:
    return protobuf_writer.encode_message(f"meta/v1.{_PARTIAL}", value)
