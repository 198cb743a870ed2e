"""What follows from results and errors of a reconcile."""

import pytest

from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.reconcile.outcome import (
    AwaitingObject,
    Conflicted,
    Deferred,
    Failed,
    Outcome,
    Requeued,
    StalledOutcome,
    Succeeded,
    TimedOut,
    classify_error,
    classify_result,
)
from quarterdeck.runtime.reconcile.result import (
    Done,
    RequeueAfter,
    Result,
    Stalled,
    WaitFor,
    Waiting,
)
from quarterdeck.wire.status import Conflict, TooManyRequests


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")


WAIT = WaitFor(Thing, Key("", "a"), timeout_s=9)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, Succeeded(), id="none"),
        pytest.param(Done(), Succeeded(), id="done"),
        pytest.param(RequeueAfter(3), Requeued(3), id="after"),
        pytest.param(RequeueAfter(3, priority=7), Requeued(3, 7), id="with a priority"),
        pytest.param(WAIT, AwaitingObject(WAIT), id="wait for an object"),
    ],
)
def test_outcomes_follow_from_results(result: Result | None, expected: Outcome) -> None:
    assert classify_result(result) == expected


def test_a_requeue_without_a_positive_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"RequeueAfter\.seconds must be positive, got 0"):
        classify_result(RequeueAfter(0))


@pytest.mark.parametrize(
    ("error", "expected", "label"),
    [
        pytest.param(Stalled("No", "x"), StalledOutcome("No", "x"), "error", id="stalled"),
        pytest.param(
            Waiting("Not", "x", after_s=5), Deferred("Not", "x", 5), "requeue_after", id="waiting"
        ),
        pytest.param(Conflict("x"), Conflicted("Conflict", "x"), "error", id="conflict"),
        pytest.param(
            TooManyRequests("x", retry_after_s=7),
            Failed("TooManyRequests", "x", 7.0),
            "error",
            id="429",
        ),
        pytest.param(
            KeyError("x"),
            Failed("ReconcileFailed", "KeyError: 'x'", is_unexpected=True),
            "error",
            id="crash",
        ),
        pytest.param(
            TimeoutError("x"),
            Failed("ReconcileFailed", "TimeoutError: x", is_unexpected=True),
            "error",
            id="a time-out of its own",
        ),
        pytest.param(ConnectionFailed("x"), Failed("Unreachable", "x"), "error", id="unreachable"),
    ],
)
def test_outcomes_follow_from_errors(error: Exception, expected: Outcome, label: str) -> None:
    found = classify_error(error)
    assert found == expected
    assert label == found.RESULT


def test_a_reconcile_beyond_its_time_limit_timed_out() -> None:
    found = classify_error(TimeoutError(), is_timeout=True)
    assert isinstance(found, TimedOut)
    assert found.detail == "TimedOut: the reconcile exceeded its time limit and was cancelled"
