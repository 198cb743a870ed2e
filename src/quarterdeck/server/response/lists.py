"""Responses of lists: encoded item by item, and streamed when they are large.

Items that are copied cost little. Others are encoded in time slices, and large ones in a thread.
"""

import functools
import operator
from collections.abc import AsyncIterator, Callable, Sequence

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.core.time_slice import TimeSlice
from quarterdeck.server.registry.codec import decode_stored, encode_served
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.response import protobuf, responses
from quarterdeck.server.response.compression import (
    COMPRESSION_SPEED,
    accepts_gzip,
    build_compressor,
)
from quarterdeck.server.response.forms import (
    build_columns,
    build_partial,
    build_row,
    check_listed,
)
from quarterdeck.server.response.frames import is_copied
from quarterdeck.storage import Entry
from quarterdeck.wire.media import PROTOBUF, YAML

Metadata = dict[str, object]
Encode = Callable[[Entry], bytes]
_PIECE_BYTES = 64 * 1024
_BATCH = 64


async def build_list_response(
    core: Core,
    call: Call,
    entries: Sequence[Entry],
    *,
    size: int,
    metadata: Metadata,
    include: str = "Metadata",
) -> responses.Response:
    """Build the response with a list of entries of about `size` bytes, in the client's form."""
    check_listed(call.resource, call.choice)
    if call.choice.media == PROTOBUF:
        return await _build_protobuf_response(core, call, entries, metadata=metadata)
    head, tail = _build_frame(call, metadata)
    encode = _build_item_encoder(core, call, include)
    if size > core.options.stream_bytes and call.choice.media != YAML:
        return _build_stream(core, call, head + b"[", entries, encode=encode, tail=b"]" + tail)
    parts = [part async for batch in _encode_batches(core, call, entries, encode) for part in batch]
    body = _join_items(call, parts, head=head, tail=tail)
    return await core.worker.run(
        responses.estimate_document_cost(core, call, len(body)),
        lambda: responses.build_document(core, call, body),
    )


def _join_items(call: Call, items: list[bytes], *, head: bytes, tail: bytes) -> bytes:
    """Join head, items and tail at once, because each further copy of a large body is slow."""
    if items:
        items[0] = b"".join((head, b"[", items[0]))
        items[-1] = b"".join((items[-1], b"]", tail))
        return b",".join(items)
    # Go writes null for a list of metadata that nothing was added to.
    return b"".join((head, b"null" if call.choice.form is Form.METADATA else b"[]", tail))


async def _build_protobuf_response(
    core: Core, call: Call, entries: Sequence[Entry], *, metadata: Metadata
) -> responses.Response:
    """Encode a list in protobuf; it begins with its length, so it cannot be streamed."""
    encode = protobuf.build_item_encoder(call.resource, call.choice)
    batches = _encode_batches(core, call, entries, lambda entry: encode(entry.value))
    items = [item async for batch in batches for item in batch]

    def build() -> responses.Response:
        body = protobuf.encode_list(call.resource, call.choice, items, metadata=metadata)
        return responses.build_encoded(core, call, body)

    size = sum(map(len, items))
    return await core.worker.run(responses.estimate_copy_cost(core, call, size), build)


async def _encode_batches(
    core: Core, call: Call, entries: Sequence[Entry], encode: Encode
) -> AsyncIterator[list[bytes]]:
    """Encode items in batches, and yield to other requests between them."""
    turns, limit = TimeSlice(core), core.options.inline_bytes
    is_cheap = is_copied(call)
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        if is_cheap:
            yield [encode(entry) for entry in batch]
            await turns.yield_if_due()
            continue
        items: list[bytes] = []
        for entry in batch:
            if len(entry.value) > limit:
                items.append(await core.worker.run_in_thread(functools.partial(encode, entry)))
            else:
                items.append(encode(entry))
            if turns.is_due:
                await turns.yield_if_due()
        yield items


def _build_frame(call: Call, metadata: Metadata) -> tuple[bytes, bytes]:
    """Build the JSON before and after the items."""
    resource, choice = call.resource, call.choice
    match choice.form:
        case Form.OBJECT if resource.is_custom:
            metadata = {"continue": "", **metadata}
            kind, api_version, items = resource.list_kind, resource.api_version, "items"
        case Form.OBJECT:
            kind, api_version, items = resource.list_kind, resource.api_version, "items"
        case Form.METADATA:
            kind, items = "PartialObjectMetadataList", "items"
            api_version = f"meta.k8s.io/{choice.version}"
        case Form.TABLE:
            kind, api_version, items = "Table", f"meta.k8s.io/{choice.version}", "rows"
    document: dict[str, object] = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
    if choice.form is Form.TABLE:
        document["columnDefinitions"] = build_columns(resource)
    head = kit_json.encode(document)[:-1] + f',"{items}":'.encode()
    return head, b"}"


def _build_item_encoder(core: Core, call: Call, include: str) -> Encode:
    resource, choice = call.resource, call.choice
    match choice.form:
        case Form.OBJECT:
            return _build_object_encoder(resource)
        case Form.METADATA:
            return lambda entry: kit_json.encode(
                build_partial(decode_stored(resource, entry.value), choice.version)
            )
        case Form.TABLE:
            return lambda entry: kit_json.encode(
                build_row(
                    core,
                    resource,
                    decode_stored(resource, entry.value),
                    choice=choice,
                    include=include,
                )
            )


def _build_object_encoder(resource: Resource) -> Encode:
    """Build the encoder of items.

    Items of built-in kinds omit `kind` and `apiVersion`, as in Kubernetes.
    """
    as_stored = resource.strategy.stored_as_served
    if resource.is_custom:
        if as_stored:
            return operator.attrgetter("value")
        return lambda entry: encode_served(resource, entry.value)
    prefix = build_type_prefix(resource)
    cut = len(prefix)

    def encode(entry: Entry) -> bytes:
        value = entry.value if as_stored else encode_served(resource, entry.value)
        return b"{" + value[cut:] if value.startswith(prefix) else value

    return encode


def build_type_prefix(resource: Resource) -> bytes:
    """Build the first bytes of the JSON of every stored object of a built-in kind."""
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()


def _build_stream(
    core: Core,
    call: Call,
    head: bytes,
    entries: Sequence[Entry],
    *,
    encode: Encode,
    tail: bytes,
) -> http.StreamResponse:
    headers = responses.build_headers(call)
    compressor = None
    if accepts_gzip(call.request):
        compressor = build_compressor()
        headers = [*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]

    async def run(writer: http.BodyWriter) -> None:
        turns = TimeSlice(core)
        batches = _encode_batches(core, call, entries, encode)
        async for piece in _join_pieces(head, batches, tail):
            if compressor is not None:
                size, compress = len(piece), functools.partial(compressor.compress, piece)
                piece = await core.worker.run(size // COMPRESSION_SPEED, compress)
            await writer.write(piece)
            await turns.yield_if_due()
        if compressor is not None:
            await writer.write(compressor.flush())

    return http.StreamResponse(200, headers, run)


async def _join_pieces(
    head: bytes, batches: AsyncIterator[list[bytes]], tail: bytes
) -> AsyncIterator[bytes]:
    """Yield the whole list in pieces of a size that is worth a write."""
    parts, size, is_first = [head], len(head), True
    async for batch in batches:
        joined = b",".join(batch)
        parts.append(joined if is_first else b"," + joined)
        is_first = False
        size += len(joined)
        if size >= _PIECE_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    parts.append(tail)
    yield b"".join(parts)
