"""Parses a server's responses: pipelines, errors, and delays before a retry. Pure.

A proxy may answer instead of the server, so everything is checked: a response that is not Connect
is an error that says so.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from quarterdeck.kit import http, json
from quarterdeck.kit.redaction import Masker
from quarterdeck.operators.pipelines.ports import CallFailed, Message, Remote
from quarterdeck.telemetry.fleet import codes
from quarterdeck.telemetry.fleet.codes import Code

OWNER = "quarterdeck-owner"
"""Member of a pipeline's metadata: the UID of the object it was written for."""
ROLLOUT = "quarterdeck-rollout"
"""Member of a pipeline's metadata: the candidate, and who receives it."""
SECRET = "quarterdeck-secret"
"""Member of a pipeline's metadata: true if its contents come from a Secret."""
MAX_MESSAGE = 1024
MAX_READ = 64 * 1024
"""Characters of a message that are searched for secrets; the rest is not shown."""
MAX_RETRY_S = 3600.0
"""The longest pause that a server can ask for."""
MAX_ID = 256
MAX_DIGITS = 20
_NO_SECRETS = Masker()
_RETRY_INFO = "google.rpc.RetryInfo"


def read_answer(
    status: int, headers: http.Headers, body: bytes, *, now: datetime, masker: Masker = _NO_SECRETS
) -> Message:
    """Decode the message of a response; error texts are masked by `masker`.

    Raises:
        CallFailed: for every other answer; an HTML page is never taken for `not_found`.
    """
    if status == 200 and _is_json(headers):
        document = _decode(body)
        if isinstance(document, Mapping):
            return document
    if status == 200:
        raise CallFailed(
            Code.UNAVAILABLE,
            "the response is not Connect JSON, so this is not a fleet server; check the URL and "
            "proxies",
        )
    raise _build_failure(status, headers, body, now=now, masker=masker)


def _build_failure(
    status: int, headers: http.Headers, body: bytes, *, now: datetime, masker: Masker
) -> CallFailed:
    document = _decode(body) if _is_json(headers) else None
    if not isinstance(document, Mapping) or "code" not in document:
        code = codes.infer(status)
        if status == 429:
            code = Code.RESOURCE_EXHAUSTED
        text = f"HTTP {status} without a Connect error: check the URL and proxies"
        return CallFailed(code, text, retry_after_s=_retry_after(headers, now))
    after_s = _retry_after(headers, now)
    if after_s is None:
        after_s = _retry_info(document.get("details"))
    text = masker.mask(str(document.get("message") or "no message")[:MAX_READ])[:MAX_MESSAGE]
    code = codes.parse(document.get("code"), status)
    return CallFailed(code, text, retry_after_s=after_s, is_quoted=True)


def read_pipeline(message: object, *, has_id: bool = True) -> Remote:
    """Decode a pipeline from a message; unknown members are ignored.

    Raises:
        CallFailed: if a member has another type, or the id is missing where there must be one.
    """
    if not isinstance(message, Mapping):
        raise _build_shape_error("a pipeline is not an object")
    source, metadata = _read_mapping(message.get("source")), _read_mapping(message.get("metadata"))
    return Remote(
        id=read_id(message) if has_id else _read_text(message, "id"),
        name=_read_text(message, "name"),
        contents=_read_text(message, "contents"),
        matchers=tuple(_read_texts(message, "matchers")),
        enabled=message.get("enabled") is not False,
        config_type=_read_config_type(message.get("configType")),
        source_type=str(source.get("type") or ""),
        source_namespace=str(source.get("namespace") or ""),
        owner=str(metadata.get(OWNER) or ""),
        created_at=_read_text(message, "createdAt"),
        updated_at=_read_text(message, "updatedAt"),
        rollout=_read_mapping(metadata.get(ROLLOUT)) or None,
        is_secret=metadata.get(SECRET) is True,
    )


def read_id(message: Message) -> str:
    """The id of a pipeline.

    Raises:
        CallFailed: if there is none: nothing is known to be on the server then.
    """
    identity = _read_text(message, "id")
    if not identity or len(identity) > MAX_ID:
        raise _build_shape_error(f"its id has {len(identity)} characters, expected 1 to {MAX_ID}")
    return identity


def read_list(message: Message, name: str) -> list[Message]:
    """The objects of a list; proto JSON leaves out an empty one.

    Raises:
        CallFailed: if it is something else.
    """
    entries = message.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        raise _build_shape_error(f"{name} is not a list of objects")
    return entries


def read_revisions(message: Message) -> list[tuple[tuple[str, str, str], Message]]:
    """The head (id, operation, time) and the snapshot of each revision, oldest first."""
    found = []
    for entry in read_list(message, "pipelineRevisions"):
        revision = _read_text(entry, "revisionId")[:MAX_ID]
        created = _read_text(entry, "createdAt")
        number = int(revision) if revision.isdecimal() and len(revision) <= MAX_DIGITS else 0
        operation = str(entry.get("operation") or "UNSPECIFIED")
        found.append(
            (
                (created, number),
                (revision, operation, created),
                _read_mapping(entry.get("snapshot")),
            )
        )
    found.sort(key=lambda each: each[0])
    return [(head, snapshot) for _, head, snapshot in found]


def _read_text(message: Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _build_shape_error(f"{name} is a {type(value).__name__}, expected a string")
    return value


def _read_texts(message: Message, name: str) -> list[str]:
    values = message.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise _build_shape_error(f"{name} is not a list of strings")
    return values


def _build_shape_error(problem: str) -> CallFailed:
    return CallFailed(
        Code.INTERNAL, f"unexpected response of the fleet server: {problem}; check the URL"
    )


def _read_config_type(value: object) -> str:
    """Unspecified and unknown ones read as Alloy, as the server treats them."""
    return "CONFIG_TYPE_OTEL" if value in ("CONFIG_TYPE_OTEL", 2) else "CONFIG_TYPE_ALLOY"


def _read_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_json(headers: http.Headers) -> bool:
    media = (headers.get("content-type") or "").partition(";")[0].strip().lower()
    return media == "application/json"


def _decode(body: bytes) -> object:
    try:
        return json.decode(body) if body else {}
    except json.JsonError:
        return None


def _retry_after(headers: http.Headers, now: datetime) -> float | None:
    """The delay of the Retry-After header, given in seconds or as a date; None if it has none."""
    text = (headers.get("retry-after") or "").strip()
    if not text:
        return None
    if text.isdecimal():
        return min(float(text[:MAX_DIGITS]), MAX_RETRY_S)
    from email.utils import parsedate_to_datetime  # seldom needed, and slow to load

    try:
        wait_s = (parsedate_to_datetime(text) - now).total_seconds()
        return min(max(0.0, wait_s), MAX_RETRY_S)
    except (ValueError, TypeError, OverflowError):
        return None


def _retry_info(details: object) -> float | None:
    """The delay of a RetryInfo detail: a Duration, field 1, of seconds and nanoseconds."""
    for detail in details if isinstance(details, list) else ():
        entry = _read_mapping(detail)
        if not str(entry.get("type") or "").endswith(_RETRY_INFO):
            continue
        text = str(entry.get("value") or "")[:MAX_ID]
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            continue
        duration = _read_varints(data[2:]) if data[:1] == b"\x0a" else {}
        seconds = min(duration.get(1, 0), int(MAX_RETRY_S))
        return min(seconds + min(duration.get(2, 0), 10**9) / 1e9, MAX_RETRY_S)
    return None


def _read_varints(data: bytes) -> dict[int, int]:
    """The integer fields of a small protobuf message."""
    found: dict[int, int] = {}
    numbers: list[int] = []
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    for tag, number in zip(numbers[::2], numbers[1::2], strict=False):
        found[tag >> 3] = number
    return found
