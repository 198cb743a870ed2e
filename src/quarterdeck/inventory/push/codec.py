"""Messages from and to bytes, by the table of `descriptors`. Pure.

Unknown fields are skipped, as protobuf requires. The last of several alternatives wins.
"""

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import msgspec

from quarterdeck.inventory.push.descriptors import MESSAGES
from quarterdeck.inventory.push.messages import ConnectRequest, ConnectResponse, MetricsBatch
from quarterdeck.kit import protowire
from quarterdeck.kit.protowire import ProtobufError, iterate_fields

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_SECONDS = 253_402_300_799
"""Largest timestamp: the end of the year 9999."""
_HEAD = frozenset({"batch_id", "sequence", "agent_id", "chunk_index", "chunk_count"})
Read = Callable[[Any], Any]
Write = Callable[[int, Any], bytes]


def decode_request(data: bytes) -> ConnectRequest:
    """Decode a message of a collector.

    Raises:
        ProtobufError: if the bytes are not such a message.
    """
    return _check(decode("ConnectRequest", data), ConnectRequest)


def decode_request_head(data: bytes) -> ConnectRequest:
    """Decode a request of a collector; of a batch only the fields that identify the chunk.

    Raises:
        ProtobufError: if the bytes are not such a message, as far as they are read.
    """
    number = next(each.number for each in _plan("ConnectRequest").fields if each.name == "metrics")
    batches = [raw for each, raw in iterate_fields(memoryview(data)) if each == number]
    if not batches:
        return decode_request(data)
    plan = _plan("MetricsBatch")
    found: dict[str, Any] = {}
    for each, raw in iterate_fields(batches[-1]):
        field = plan.by_number.get(each)
        if field is not None and field.name in _HEAD:
            found[field.name] = field.read(raw)
    return ConnectRequest(metrics=MetricsBatch(**found))


def decode_response(data: bytes) -> ConnectResponse:
    """Decode a message of the hub.

    Raises:
        ProtobufError: if the bytes are not such a message.
    """
    return _check(decode("ConnectResponse", data), ConnectResponse)


def encode_request(message: ConnectRequest) -> bytes:
    """Encode a message of a collector."""
    return encode("ConnectRequest", message)


def encode_response(message: ConnectResponse) -> bytes:
    """Encode a message of the hub."""
    return encode("ConnectResponse", message)


def decode(name: str, data: Any) -> Any:
    """Decode a message.

    Raises:
        ProtobufError: if the bytes are not such a message.
    """
    plan = _plan(name)
    found: dict[str, Any] = dict(plan.defaults)
    for number, raw in iterate_fields(data if isinstance(data, int) else memoryview(data)):
        field = plan.by_number.get(number)
        if field is None:
            continue
        match field.label:
            case "repeated":
                _append(found, field.name, field.read(raw))
            case "map":
                key, value = field.read(raw)
                if not found[field.name]:
                    found[field.name] = {}
                found[field.name][key] = value
            case _:
                found[field.name] = field.read(raw)
    for each in plan.repeated:
        found[each] = tuple(found[each])
    return plan.type(**found)


def encode(name: str, message: Any) -> bytes:
    """Encode a message; zero values are left out."""
    parts: list[bytes] = []
    for field in _plan(name).fields:
        value = getattr(message, field.name)
        if value is None or value is msgspec.UNSET:
            continue
        match field.label:
            case "repeated":
                parts += [field.write(field.number, each) for each in value]
            case "map":
                parts += [field.write(field.number, each) for each in value.items()]
            case "optional":
                parts.append(field.write(field.number, value))
            case _ if value or field.is_message:
                parts.append(field.write(field.number, value))
    return b"".join(parts)


class _Field(NamedTuple):
    number: int
    name: str
    label: str
    is_message: bool
    read: Read
    write: Write


class _Plan(NamedTuple):
    type: Callable[..., Any]
    fields: tuple[_Field, ...]
    by_number: dict[int, _Field]
    defaults: dict[str, Any]
    repeated: tuple[str, ...]


@functools.cache
def _plan(name: str) -> _Plan:
    """The plan for decoding and encoding a message; built once per message."""
    message = MESSAGES[name]
    fields, defaults = [], {}
    known = {each.name: each for each in msgspec.structs.fields(message.type)}
    for number, field, type_ in message.fields:
        label, _, scalar = type_.rpartition(" ")
        is_message = scalar in MESSAGES or scalar == "Timestamp"
        read, write = _find_codec(scalar)
        if label == "map":
            read, write = _build_entry_reader(read, scalar), _build_entry_writer(write)
        fields.append(_Field(number, field, label, is_message, read, write))
        default = _default(label, scalar, known[field])
        if default is not msgspec.UNSET:
            defaults[field] = default
    for extra in known.keys() - {each.name for each in fields}:
        if known[extra].required:  # a moment or a default that the reader of the batch fills in
            defaults[extra] = ""
    repeated = tuple(each.name for each in fields if each.label == "repeated")
    by_number = {each.number: each for each in fields}
    return _Plan(message.type, tuple(fields), by_number, defaults, repeated)


def _default(label: str, scalar: str, field: msgspec.structs.FieldInfo) -> Any:
    if label == "repeated":
        return ()
    if label == "map":
        return {}
    if label == "optional":
        return None if field.required else msgspec.UNSET
    zeros: dict[str, Any] = {"string": "", "bytes": b"", "bool": False, "double": 0.0}
    if scalar in ("int32", "int64"):
        return 0
    return zeros.get(scalar)


def _find_codec(type_: str) -> tuple[Read, Write]:
    match type_:
        case "string":
            return protowire.read_text, lambda n, v: protowire.write_bytes(n, v.encode())
        case "bytes":
            return protowire.read_bytes, protowire.write_bytes
        case "bool":
            return protowire.read_bool, lambda n, v: protowire.write_number(n, int(v))
        case "int32" | "int64":
            return protowire.read_signed, lambda n, v: protowire.write_number(n, int(v))
        case "double":
            return protowire.read_double, lambda n, v: protowire.write_double(n, float(v))
        case "Timestamp":
            return _read_time, _write_time
    return (
        lambda raw: decode(type_, raw),
        lambda n, v: protowire.write_bytes(n, encode(type_, v)),
    )


def _build_entry_reader(read: Read, scalar: str) -> Read:
    zero: Any = 0.0 if scalar == "double" else ""

    def read_entry(raw: Any) -> tuple[str, Any]:
        key, value = "", zero
        for number, part in iterate_fields(raw):
            if number == 1:
                key = protowire.read_text(part)
            elif number == 2:
                value = read(part)
        return key, value

    return read_entry


def _build_entry_writer(write: Write) -> Write:
    def write_entry(number: int, entry: tuple[str, Any]) -> bytes:
        key, value = entry
        body = protowire.write_bytes(1, key.encode()) + write(2, value)
        return protowire.write_bytes(number, body)

    return write_entry


def _read_time(raw: Any) -> datetime:
    seconds = nanos = 0
    for number, part in iterate_fields(raw):
        if number == 1:
            seconds = protowire.read_signed(part)
        elif number == 2:
            nanos = protowire.read_signed(part)
    if not 0 <= seconds <= _MAX_SECONDS or not 0 <= nanos < 1_000_000_000:
        raise ProtobufError(f"proto: a timestamp is out of range: {seconds} s, {nanos} ns")
    return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _write_time(number: int, at: datetime) -> bytes:
    passed = at - _EPOCH
    seconds, nanos = passed.days * 86_400 + passed.seconds, passed.microseconds * 1000
    body = protowire.write_number(1, seconds) + (protowire.write_number(2, nanos) if nanos else b"")
    return protowire.write_bytes(number, body)


def _append(found: dict[str, Any], name: str, value: Any) -> None:
    if not isinstance(found[name], list):
        found[name] = []
    found[name].append(value)


def _check(value: Any, type_: type[T]) -> T:
    assert isinstance(value, type_)
    return value
