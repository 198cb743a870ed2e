from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.conditions import (
    Condition,
    Status,
    find,
    is_false,
    is_true,
    remove_condition,
    set_condition,
)

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def ready(status: Status, *, reason: str = "Because", generation: int = 1) -> Condition:
    return Condition(type="Ready", status=status, reason=reason, observed_generation=generation)


def test_a_new_condition_gets_the_time() -> None:
    (condition,) = set_condition((), ready("True"), now=NOON)
    assert condition.last_transition_time == "2026-01-02T12:00:00Z"


def test_the_time_stays_while_the_status_stays() -> None:
    first = set_condition((), ready("False"), now=NOON)
    (condition,) = set_condition(first, ready("False", reason="Other", generation=2), now=LATER)
    assert condition.last_transition_time == "2026-01-02T12:00:00Z"
    assert (condition.reason, condition.observed_generation) == ("Other", 2)


def test_the_time_moves_when_the_status_flips() -> None:
    first = set_condition((), ready("False"), now=NOON)
    (condition,) = set_condition(first, ready("True"), now=LATER)
    assert condition.last_transition_time == "2026-01-02T13:00:00Z"


def test_a_time_that_was_given_is_kept_on_a_flip() -> None:
    new = Condition(type="Ready", status="True", last_transition_time="2020-01-01T00:00:00Z")
    (condition,) = set_condition((), new, now=NOON)
    assert condition.last_transition_time == "2020-01-01T00:00:00Z"


def test_a_missing_time_is_filled_in() -> None:
    old = (Condition(type="Ready", status="True"),)
    (condition,) = set_condition(old, ready("True"), now=NOON)
    assert condition.last_transition_time == "2026-01-02T12:00:00Z"


def test_conditions_of_others_and_the_order_survive() -> None:
    foreign = Condition(type="DatabaseReady", status="True", reason="ConnectionEstablished")
    first = set_condition((ready("False"), foreign), ready("True"), now=NOON)
    assert [condition.type for condition in first] == ["Ready", "DatabaseReady"]
    assert first[1] is foreign


def test_setting_an_equal_condition_returns_the_same_object() -> None:
    first = set_condition((), ready("True"), now=NOON)
    assert set_condition(first, ready("True"), now=LATER)[0] is first[0]


def test_removing_a_condition_keeps_the_others() -> None:
    synced = Condition(type="Synced", status="True", reason="Synced")
    both = set_condition(set_condition((), ready("True"), now=NOON), synced, now=NOON)
    assert [condition.type for condition in both] == ["Ready", "Synced"]
    assert [condition.type for condition in remove_condition(both, "Ready")] == ["Synced"]


@pytest.mark.parametrize(
    ("status", "true", "false"),
    [("True", True, False), ("False", False, True), ("Unknown", False, False)],
)
def test_conditions_are_found_and_compared_by_status(
    status: Status, true: bool, false: bool
) -> None:
    conditions = (ready(status),)
    assert is_true(conditions, "Ready") is true
    assert is_false(conditions, "Ready") is false
    assert not is_true((), "Ready")
    assert not is_false((), "Ready")
    assert find(conditions, "Ready") is conditions[0]
    assert find(conditions, "Synced") is None


_statuses = st.sampled_from(["True", "False", "Unknown"])


@given(st.lists(_statuses, min_size=1, max_size=8))
def test_the_time_is_that_of_the_last_flip(statuses: list[Status]) -> None:
    conditions: tuple[Condition, ...] = ()
    flipped = NOON
    for hour, status in enumerate(statuses):
        now = NOON + timedelta(hours=hour)
        if hour == 0 or statuses[hour - 1] != status:
            flipped = now
        conditions = set_condition(conditions, ready(status), now=now)
    assert conditions[0].last_transition_time == flipped.strftime("%Y-%m-%dT%H:%M:%SZ")
