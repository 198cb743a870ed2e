"""Writes as Redis commands: pure."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    DeleteIfEqual,
    DeleteKeys,
    ExtendTtl,
    Publish,
    PushItem,
    RemoveMembers,
    RemoveScored,
    ReplaceMembers,
    SetFields,
    SetValue,
    Write,
)

Argument: TypeAlias = str | bytes | int | float
Command: TypeAlias = tuple[Argument, ...]
_TYPES = {
    "HSET": b"hash",
    **dict.fromkeys(("SADD", "SREM"), b"set"),
    **dict.fromkeys(("ZADD", "ZREM", "ZREMRANGEBYSCORE"), b"zset"),
    **dict.fromkeys(("LPUSH", "LTRIM"), b"list"),
}
"""Types that commands expect of their key; the others take any."""
ABSENT = b"none"
_DELETE_IF_EQUAL = (
    "if redis.pcall('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
)
"""With `pcall`, because a key of another type is not equal either."""


def find_expected_types(planned: Sequence[Command]) -> dict[str, bytes]:
    """The type that each key must have before the commands, unless it is absent."""
    expected: dict[str, bytes] = {}
    replaced: set[str] = set()
    for name, *arguments in planned:
        key = str(arguments[0])
        if name in ("SET", "DEL"):
            replaced.add(key)
        elif name in _TYPES and key not in replaced:
            expected.setdefault(key, _TYPES[str(name)])
    return expected


def build_commands(writes: Sequence[Write]) -> Iterator[Command]:
    """The commands that carry out the writes, in their order."""
    for write in writes:
        yield from _build_command(write)


def _build_command(write: Write) -> Iterator[Command]:
    match write:
        case SetValue():
            ttl = () if write.ttl_s is None else ("EX", write.ttl_s)
            yield ("SET", write.key, write.value, *ttl)
        case SetFields():
            if write.fields:
                pairs = (part for pair in write.fields.items() for part in pair)
                yield ("HSET", write.key, *pairs)
            yield from _expire(write.key, write.ttl_s)
        case AddMembers():
            if write.members:
                yield ("SADD", write.key, *write.members)
                yield from _expire(write.key, write.ttl_s)
        case RemoveMembers():
            if write.members:
                yield ("SREM", write.key, *write.members)
        case ReplaceMembers():
            yield ("DEL", write.key)
            if write.members:
                yield ("SADD", write.key, *write.members)
                yield from _expire(write.key, write.ttl_s)
        case AddScored():
            yield from _add_scored(write)
        case RemoveScored():
            if write.members:
                yield ("ZREM", write.key, *write.members)
        case PushItem():
            yield ("LPUSH", write.key, write.value)
            yield ("LTRIM", write.key, 0, write.keep - 1)
            yield from _expire(write.key, write.ttl_s)
        case DeleteKeys():
            for key in write.keys:  # one each: on a cluster keys live on different servers
                yield ("DEL", key)
        case DeleteIfEqual():
            yield ("EVAL", _DELETE_IF_EQUAL, 1, write.key, write.value)
        case ExtendTtl():
            for key in write.keys:
                yield ("EXPIRE", key, write.ttl_s, "GT")
        case Publish():
            yield ("PUBLISH", write.channel, write.message)
        case _:
            assert_never(write)


def _add_scored(write: AddScored) -> Iterator[Command]:
    if write.members:
        pairs = (part for member, score in write.members.items() for part in (score, member))
        yield ("ZADD", write.key, *pairs)
    if write.keep_from is not None:
        yield ("ZREMRANGEBYSCORE", write.key, "-inf", f"({write.keep_from!r}")
    yield from _expire(write.key, write.ttl_s)


def _expire(key: str, ttl_s: int | None) -> Iterator[Command]:
    if ttl_s is not None:
        yield ("EXPIRE", key, ttl_s)
