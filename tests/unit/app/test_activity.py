"""Lines that `up` prints about writes."""

import pytest

from quarterdeck.app.activity import EVENTS, Line, format_write
from quarterdeck.kit import json
from quarterdeck.storage import Entry, StoreKey
from quarterdeck.storage.types import StoreEvent

_KINDS = {"applications.example": "Application", "fleets.example": "Fleet"}


def _write(
    key: StoreKey, *, before: bytes | None = None, after: bytes | None = None
) -> Line | None:
    def build(value: bytes | None) -> Entry | None:
        return None if value is None else Entry(key, 1, 1, value)

    return format_write(StoreEvent(1, key, build(before), build(after)), _KINDS)


@pytest.mark.parametrize(
    ("key", "before", "after", "line"),
    [
        (StoreKey("applications.example", "default", "web"), None, b"{}",
         Line("Application default/web created")),
        (StoreKey("fleets.example", "", "one"), b"{}", None, Line("Fleet one deleted")),
        (StoreKey("fleets.example", "", "one"), b"{}", b"{}", None),
        (StoreKey("pods", "default", "web"), None, b"{}", None),
        (StoreKey(EVENTS, "default", "web.1"), b"{}", None, None),
    ],
)  # fmt: skip
def test_creations_and_deletions_of_our_kinds_are_shown(
    key: StoreKey, before: bytes | None, after: bytes | None, line: Line | None
) -> None:
    assert _write(key, before=before, after=after) == line


@pytest.mark.parametrize(
    ("kind", "type_", "line"),
    [
        ("Application", "Normal", Line("Application default/web Ready: it runs")),
        ("Pod", "Normal", None),
        ("Pod", "Warning", Line("Pod default/web Ready: it runs", is_warning=True)),
    ],
)
def test_events_of_our_kinds_and_all_warnings_are_shown(
    kind: str, type_: str, line: Line | None
) -> None:
    about = {"kind": kind, "namespace": "default", "name": "web"}
    event = {"involvedObject": about, "reason": "Ready", "message": "it runs", "type": type_}
    assert _write(StoreKey(EVENTS, "default", "web.1"), after=json.encode(event)) == line
