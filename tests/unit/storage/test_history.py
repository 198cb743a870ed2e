"""Bounds of the recent history."""

import pytest

from quarterdeck.storage.history import History
from quarterdeck.storage.types import StoreEvent, StoreKey


def event(revision: int, size: int = 1) -> StoreEvent:
    key = StoreKey("pods", "", "a")
    return StoreEvent(revision, key, before=None, after=None, tombstone=b"x" * size)


def revisions(events: list[StoreEvent]) -> list[int]:
    return [event.revision for event in events]


@pytest.mark.parametrize(
    ("max_events", "max_bytes", "size"),
    [
        pytest.param(100, 10**9, 1, id="by number"),
        pytest.param(10**6, 1000, 10, id="by bytes"),
    ],
)
def test_history_keeps_the_newest_within_its_bounds(
    max_events: int, max_bytes: int, size: int
) -> None:
    history = History(floor=0, max_events=max_events, max_bytes=max_bytes)
    for revision in range(1, 1001):
        history.extend([event(revision, size)])
        assert revisions(history.after(history.floor)) == list(
            range(history.floor + 1, revision + 1)
        )
        assert len(history) * size == history.bytes
        assert len(history) <= 113
    assert len(history) >= 100


def test_one_event_larger_than_all_is_let_go() -> None:
    history = History(floor=0, max_events=10, max_bytes=10)
    history.extend([event(1, 100)])
    assert (len(history), history.floor, history.bytes) == (0, 1, 0)


def test_forgetting_moves_the_floor() -> None:
    history = History(floor=0, max_events=10, max_bytes=10)
    history.extend([event(2), event(4), event(6)])
    history.forget(4)
    assert (history.floor, revisions(history.after(4))) == (4, [6])
    history.forget(3)
    assert history.floor == 4
    history.forget(9)
    assert (history.floor, len(history)) == (9, 0)
