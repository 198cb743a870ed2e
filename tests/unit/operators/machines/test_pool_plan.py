"""The plan of a runner pool: idle minimum, demand, and runners that are never killed."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.hypervisor.pool import ScheduledOverride
from quarterdeck.operators.machines.plan.pool import (
    PoolDemand,
    Runner,
    count_desired,
    find_minimum,
    plan_pool,
)


def idle(name: str, seconds: float = 1000.0) -> Runner:
    return Runner(name, "idle", age_s=seconds, idle_s=seconds)


def test_minimum_counts_idle_runners_only() -> None:
    busy = [Runner("b1", "busy"), Runner("b2", "busy")]
    plan = plan_pool(busy, PoolDemand(min_idle=1, max_runners=10))
    assert (plan.desired, plan.create) == (3, 1)


def test_demand_never_exceeds_the_maximum() -> None:
    plan = plan_pool([], PoolDemand(min_idle=2, max_runners=5, queued=50))
    assert (plan.desired, plan.create) == (5, 5)


def test_scale_to_zero_is_honored() -> None:
    plan = plan_pool([idle("a")], PoolDemand(min_idle=0, max_runners=5, scale_down_delay_s=10))
    assert [each.name for each in plan.remove] == ["a"]


def test_idle_runners_stay_until_the_pool_is_quiet() -> None:
    desired = PoolDemand(min_idle=0, max_runners=5, scale_down_delay_s=300, quiet_s=10)
    plan = plan_pool([idle("a")], desired)
    assert plan.remove == ()
    assert plan.check_s == pytest.approx(290.0)


def test_oldest_idle_runner_goes_first() -> None:
    runners = [idle("new", 400), idle("old", 500), Runner("busy", "busy")]
    plan = plan_pool(runners, PoolDemand(min_idle=1, max_runners=5))
    assert [each.name for each in plan.remove] == ["old"]


def test_only_a_job_that_takes_too_long_ends_a_busy_runner() -> None:
    runners = [Runner("slow", "busy", job_s=3600), Runner("fast", "busy", job_s=10)]
    plan = plan_pool(runners, PoolDemand(min_idle=0, max_runners=5, job_timeout_s=1800))
    assert [(each.name, each.reason) for each in plan.remove] == [("slow", "JobTimeout")]


def test_failed_runners_are_replaced_with_growing_pauses() -> None:
    desired = PoolDemand(min_idle=1, max_runners=5, failures=4, last_failure_s=5.0)
    plan = plan_pool([Runner("bad", "failed")], desired)
    assert [each.name for each in plan.remove] == ["bad"]
    assert plan.create == 0
    assert plan.check_s == pytest.approx(15.0)


RUNNERS = st.lists(
    st.builds(
        Runner,
        name=st.uuids().map(str),
        state=st.sampled_from(["pending", "idle", "busy", "failed", "deleting"]),
        age_s=st.floats(0, 1e5),
        idle_s=st.floats(0, 1e5),
        job_s=st.floats(0, 1e5),
        is_kept=st.booleans(),
    ),
    max_size=15,
    unique_by=lambda each: each.name,
)
WISHES = st.builds(
    PoolDemand,
    min_idle=st.integers(0, 5),
    max_runners=st.integers(0, 12),
    queued=st.integers(0, 10),
    warm=st.integers(0, 2),
    surge=st.integers(0, 2),
    scale_down_delay_s=st.floats(0, 600),
    quiet_s=st.floats(0, 1000),
    max_lifetime_s=st.sampled_from([0.0, 3600.0]),
    idle_timeout_s=st.sampled_from([0.0, 300.0]),
    job_timeout_s=st.just(0.0),
    failures=st.integers(0, 8),
    last_failure_s=st.none() | st.floats(0, 100),
)


@given(runners=RUNNERS, desired=WISHES)
def test_no_busy_runner_is_ever_removed_and_no_limit_is_broken(
    runners: list[Runner], desired: PoolDemand
) -> None:
    plan = plan_pool(runners, desired)
    states = {each.name: each.state for each in runners}
    assert all(states[each.name] in ("idle", "failed") for each in plan.remove)
    present = sum(each.state in ("pending", "idle", "busy") for each in runners)
    busy = sum(each.state == "busy" for each in runners)
    assert plan.create == 0 or present + plan.create <= max(desired.max_runners, busy)
    assert plan.desired >= busy
    assert count_desired(desired, busy) == plan.desired
    shrunk = [each for each in plan.remove if each.reason in ("ScaleDown", "IdleTimeout")]
    assert present - len(shrunk) >= min(present, plan.desired)


@pytest.mark.parametrize(
    ("recurrence", "now", "minimum"),
    [
        ("None", datetime(2026, 11, 16, 9, tzinfo=UTC), 5),
        ("None", datetime(2026, 11, 17, 9, tzinfo=UTC), 1),
        ("Daily", datetime(2026, 12, 24, 9, tzinfo=UTC), 5),
        ("Daily", datetime(2026, 12, 24, 20, tzinfo=UTC), 1),
        ("Weekly", datetime(2026, 11, 23, 9, tzinfo=UTC), 5),
        ("Weekly", datetime(2026, 11, 24, 9, tzinfo=UTC), 1),
        ("Monthly", datetime(2026, 12, 16, 9, tzinfo=UTC), 5),
        ("Yearly", datetime(2027, 11, 16, 9, tzinfo=UTC), 5),
        ("Yearly", datetime(2027, 12, 16, 9, tzinfo=UTC), 1),
    ],
)
def test_schedules_change_the_minimum(recurrence: str, now: datetime, minimum: int) -> None:
    override = ScheduledOverride(
        start="2026-11-16T08:00:00Z",
        end="2026-11-16T18:00:00Z",
        min_replicas=5,
        recurrence=recurrence,  # type: ignore[arg-type]
    )
    found, change_s = find_minimum((override,), 1, now)
    assert found == minimum
    assert change_s is None or change_s > 0


def test_runners_that_are_too_old_count_as_going_already() -> None:
    runners = [idle("old", 4000), idle("a", 500), idle("b", 400)]
    demand = PoolDemand(min_idle=2, max_runners=5, max_lifetime_s=3600)
    assert [each.name for each in plan_pool(runners, demand).remove] == ["old"]


def test_a_pool_looks_again_when_a_lifetime_or_a_job_runs_out() -> None:
    aging = PoolDemand(min_idle=1, max_runners=5, max_lifetime_s=3600)
    assert plan_pool([idle("a", 600)], aging).check_s == pytest.approx(3000)
    working = PoolDemand(min_idle=0, max_runners=5, job_timeout_s=1800)
    pending = Runner("p", "pending", job_s=5)
    assert plan_pool([Runner("b", "busy", job_s=600), pending], working).check_s == 1200
    assert plan_pool([Runner("b", "busy", job_s=600)], PoolDemand(0, 5)).check_s is None


def test_idle_runners_go_after_their_timeout_although_the_pool_is_not_quiet() -> None:
    demand = PoolDemand(min_idle=0, max_runners=5, quiet_s=1, idle_timeout_s=500)
    plan = plan_pool([idle("old", 600), idle("new", 10)], demand)
    assert [(each.name, each.reason) for each in plan.remove] == [("old", "IdleTimeout")]
    assert plan.check_s == pytest.approx(290.0)


def test_windows_that_are_over_or_reversed_change_nothing() -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    over = ScheduledOverride(
        start="2026-11-16T08:00:00Z", end="2026-11-16T10:00:00Z", min_replicas=9
    )
    reverse = ScheduledOverride(
        start="2026-11-16T14:00:00Z", end="2026-11-16T10:00:00Z", min_replicas=8
    )
    assert find_minimum([over, reverse], 1, now) == (1, None)


def test_the_first_of_two_windows_decides() -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    windows = [
        ScheduledOverride(start="2026-11-16T11:00:00Z", end="2026-11-16T14:00:00Z", min_replicas=3),
        ScheduledOverride(start="2026-11-16T11:00:00Z", end="2026-11-16T13:00:00Z", min_replicas=7),
        ScheduledOverride(start="2026-11-16T12:30:00Z", end="2026-11-16T13:00:00Z", min_replicas=9),
    ]
    assert find_minimum(windows, 1, now) == (3, 1800.0)


@pytest.mark.parametrize(
    ("recurrence", "now", "seconds"),
    [
        pytest.param("Monthly", datetime(2027, 2, 28, 8, tzinfo=UTC), 7200.0, id="short month"),
        pytest.param("Monthly", datetime(2027, 3, 31, 9, tzinfo=UTC), 3600.0, id="long month"),
        pytest.param("Yearly", datetime(2028, 1, 31, 9, tzinfo=UTC), 3600.0, id="next year"),
        pytest.param("Daily", datetime(2027, 2, 3, 9, tzinfo=UTC), 3600.0, id="each day"),
    ],
)
def test_windows_come_again(recurrence: str, now: datetime, seconds: float) -> None:
    document = {
        "start": "2027-01-31T08:00:00Z",
        "end": "2027-01-31T10:00:00Z",
        "minReplicas": 4,
        "recurrence": recurrence,
    }
    override = msgspec.convert(document, ScheduledOverride)
    assert find_minimum([override], 1, now) == (4, seconds)
