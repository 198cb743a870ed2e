"""Redis' types as immutable values, and the effects of writes on them. Pure.

Keys without members and expired keys do not exist. A write to a value of another type is refused,
as Redis does.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import msgspec

from quarterdeck.hubstate.errors import StoreRefused
from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    PushItem,
    RemoveMembers,
    RemoveScored,
    ReplaceMembers,
    SetFields,
    SetValue,
)


class Text(msgspec.Struct, frozen=True, tag="s", array_like=True):
    """A string."""

    expires_at: float | None
    value: bytes


class Hash(msgspec.Struct, frozen=True, tag="h", array_like=True):
    """Fields with text values."""

    expires_at: float | None
    fields: Mapping[str, str]


class Members(msgspec.Struct, frozen=True, tag="m", array_like=True):
    """A set."""

    expires_at: float | None
    members: frozenset[str]


class Scored(msgspec.Struct, frozen=True, tag="z", array_like=True):
    """A sorted set."""

    expires_at: float | None
    members: Mapping[str, float]


class Items(msgspec.Struct, frozen=True, tag="l", array_like=True):
    """A list, newest first."""

    expires_at: float | None
    items: tuple[bytes, ...]


Value: TypeAlias = Text | Hash | Members | Scored | Items
KeyWrite: TypeAlias = (
    SetValue
    | SetFields
    | AddMembers
    | RemoveMembers
    | ReplaceMembers
    | AddScored
    | RemoveScored
    | PushItem
)
V = TypeVar("V", Text, Hash, Members, Scored, Items)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Value)


def encode(value: Value) -> bytes:
    """Encode a value for the disk."""
    return _encoder.encode(value)


def decode(data: bytes) -> Value:
    """Decode a value from the disk."""
    value: Value = _decoder.decode(data)
    return value


def drop_expired(value: Value | None, now: float) -> Value | None:
    """The value, unless it has expired."""
    if value is None or (value.expires_at is not None and value.expires_at <= now):
        return None
    return value


def check_type(value: Value | None, kind: type[V], key: str) -> V | None:
    """Check that a value has a type; returns the value.

    Raises:
        StoreRefused: if it has another type.
    """
    if value is None or isinstance(value, kind):
        return value
    raise StoreRefused(
        f"{key} holds a {type(value).__name__.lower()}, not a {kind.__name__.lower()}"
    )


def apply_write(value: Value | None, write: KeyWrite, now: float) -> Value | None:
    """Return the value of a key after a write; None if the write removes the key.

    Raises:
        StoreRefused: if the key holds another type.
    """
    match write:
        case SetValue():
            return Text(_compute_deadline(write.ttl_s, now, None), write.value)
        case SetFields():
            before = check_type(value, Hash, write.key)
            fields = {**(before.fields if before else {}), **write.fields}
            return Hash(_compute_deadline(write.ttl_s, now, before), fields) if fields else None
        case AddMembers() | RemoveMembers():
            return _change_members(value, write, now)
        case ReplaceMembers():
            deadline = _compute_deadline(write.ttl_s, now, None)
            return Members(deadline, frozenset(write.members)) if write.members else None
        case AddScored() | RemoveScored():
            return _change_scored(value, write, now)
        case PushItem():
            held = check_type(value, Items, write.key)
            items = (write.value, *(held.items if held else ()))[: write.keep]
            return Items(_compute_deadline(write.ttl_s, now, held), items)


def extend_ttl(value: Value, deadline: float) -> Value:
    """Extend the deadline of a value; a value without a deadline stays as it is."""
    if value.expires_at is None or value.expires_at >= deadline:
        return value
    return msgspec.structs.replace(value, expires_at=deadline)


def _change_members(
    value: Value | None, write: AddMembers | RemoveMembers, now: float
) -> Members | None:
    before = check_type(value, Members, write.key)
    members = before.members if before else frozenset()
    deadline = before.expires_at if before else None
    if isinstance(write, RemoveMembers):
        members = members.difference(write.members)
    elif write.members:
        members = members.union(write.members)
        deadline = _compute_deadline(write.ttl_s, now, before)
    return Members(deadline, members) if members else None


def _change_scored(
    value: Value | None, write: AddScored | RemoveScored, now: float
) -> Scored | None:
    before = check_type(value, Scored, write.key)
    members = dict(before.members) if before else {}
    if isinstance(write, RemoveScored):
        for member in write.members:
            members.pop(member, None)
        deadline = before.expires_at if before else None
    else:
        members.update(write.members)
        if write.keep_from is not None:
            members = {each: score for each, score in members.items() if score >= write.keep_from}
        deadline = _compute_deadline(write.ttl_s, now, before)
    return Scored(deadline, members) if members else None


def _compute_deadline(ttl_s: int | None, now: float, before: Value | None) -> float | None:
    if ttl_s is not None:
        return now + ttl_s
    return before.expires_at if before is not None else None
