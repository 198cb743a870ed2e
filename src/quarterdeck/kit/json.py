"""JSON text of any shape; decoding errors of the libraries become `JsonError`."""

from typing import Any

import msgspec

_decoder = msgspec.json.Decoder()
_object_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_encoder = msgspec.json.Encoder()
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for text that is not JSON, not UTF-8 or nested too deeply."""
_STEP_BYTES = 64 * 1024
"""Shorter texts are read at once: in a millisecond or two."""


class JsonError(ValueError):
    """Raised when text is not JSON; the message has the cause and, if known, the position."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def encode(value: object) -> bytes:
    """Compact JSON; members keep their order."""
    return _encoder.encode(value)


def indent(text: bytes) -> bytes:
    """JSON for people: two spaces a level."""
    return msgspec.json.format(text, indent=2)


def decode(text: bytes | str) -> Any:
    """Read JSON; integers stay integers.

    Raises:
        JsonError: if it is not JSON, or nested deeper than the interpreter allows.
    """
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError as error:
        raise JsonError(str(error)) from error
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error


def decode_in_steps(text: bytes) -> Any:
    """As `decode`, for large texts in a thread: other threads get a turn between members.

    The decoder holds the GIL for a whole text. So the members are split first, and large ones are
    decoded separately. That takes twice the time in total, but at most half of it at once.

    Raises:
        JsonError: as `decode`.
    """
    try:
        return _decode_members(text)
    except UNREADABLE:
        return decode(text)  # raises with cause and position


def _decode_members(text: bytes | memoryview) -> Any:
    if len(text) <= _STEP_BYTES:
        return _decoder.decode(text)
    match bytes(text[:1]):
        case b"{":
            members = _object_decoder.decode(text)
            return {name: _decode_members(memoryview(each)) for name, each in members.items()}
        case b"[":
            return [_decode_members(memoryview(each)) for each in _array_decoder.decode(text)]
        case _:
            return _decoder.decode(text)


class _Pairs(dict[str, Any]):
    """A JSON object with the keys that occurred twice in it."""

    __slots__ = ("twice",)
    twice: tuple[str, ...]


def find_duplicate_keys(text: bytes | str) -> list[str]:
    """The paths of duplicate object keys, such as `spec.size`.

    Decoders keep the last value silently; strict field validation must report them.
    """
    import json  # slower, but its hook gets every pair

    try:
        document = json.loads(text, object_pairs_hook=_collect_pairs)
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    _collect(document, "", found)
    return found


def decode_merged(text: bytes | str) -> Any:
    """Decode JSON, and merge the objects of duplicate keys, as Go does for its structs.

    Raises:
        JsonError: if it is not JSON.
    """
    import json

    try:
        return json.loads(text, object_pairs_hook=_merge_pairs)
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error)) from error


def _merge_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        before = result.get(key)
        result[key] = _merge(before, value) if isinstance(before, dict) else value
    return result


def _merge(before: dict[str, Any], after: Any) -> Any:
    if not isinstance(after, dict):
        return after
    merged = dict(before)
    for key, value in after.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) else value
    return merged


def _collect_pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    result = _Pairs(pairs)
    result.twice = ()
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for key, _ in pairs:
            if key in seen:
                twice[key] = None
            seen.add(key)
        result.twice = tuple(twice)
    return result


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        found.extend(f"{path}.{key}" if path else key for key in value.twice)
        for key, member in value.items():
            _collect(member, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _collect(member, f"{path}[{index}]", found)
