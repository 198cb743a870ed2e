"""When to come back, and whether to write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.inventory.health import Health, Observation, Thresholds, assess_health
from quarterdeck.meta.conditions import Condition
from quarterdeck.operators.clusters import plan
from quarterdeck.operators.clusters.options import build_namespace_predicate


@pytest.mark.parametrize(("spec", "interval"), [(10, 30), (0, 45), (None, 45), (120, 120)])
def test_an_interval_is_never_below_thirty_seconds(spec: int | None, interval: int) -> None:
    assert plan.get_interval(spec, 45) == interval


@pytest.mark.parametrize(
    ("interval", "health", "failed", "seconds"),
    [
        (120, Health.HEALTHY, False, 120),
        (120, Health.DEGRADED, False, 120),
        (120, Health.UNHEALTHY, False, 60),
        (120, Health.UNHEALTHY, True, 60),
        (300, Health.UNHEALTHY, True, 60),
        (30, Health.UNHEALTHY, True, 30),
    ],
)
def test_a_cluster_that_is_not_well_is_visited_sooner(
    interval: int, health: Health, failed: bool, seconds: float
) -> None:
    assert plan.plan_visit(interval, health, failed=failed) == seconds


@given(st.integers(30, 100_000), st.sampled_from(list(Health)), st.booleans())
def test_visits_stay_within_bounds(interval: int, health: Health, failed: bool) -> None:
    assert 30 <= plan.plan_visit(interval, health, failed=failed) <= interval


@pytest.mark.parametrize(
    ("interval", "errors", "seconds"), [(60, True, 30), (120, True, 60), (60, False, 60)]
)
def test_a_source_with_errors_is_collected_sooner(
    interval: int, errors: bool, seconds: float
) -> None:
    assert plan.plan_collection_delay(interval, errors=errors) == seconds


@pytest.mark.parametrize(
    ("available", "milliseconds", "authenticated", "health"),
    [
        (True, 42, True, Health.HEALTHY),
        (True, 6000, True, Health.DEGRADED),
        (True, 42, False, Health.DEGRADED),
        (False, 0, True, Health.UNHEALTHY),
    ],
)
def test_the_health_of_a_registry_follows_its_checks(
    available: bool, milliseconds: int, authenticated: bool, health: Health
) -> None:
    found = plan.assess_registry(
        available=available, response_ms=milliseconds, authenticated=authenticated
    )
    assert found is health


def test_namespaces_are_kept_or_left_out() -> None:
    assert build_namespace_predicate("") is None
    keeps = build_namespace_predicate("app-*, !app-secret")
    assert keeps is not None
    assert [keeps(name) for name in ("app-a", "app-secret", "kube-system")] == [True, False, False]
    others = build_namespace_predicate("!kube-*")
    assert others is not None
    assert others("default") and not others("kube-system")


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (100, 150, False),
        (100, 151, True),
        (1000, 1051, False),
        (102, 51, False),
        (120, 59, True),
        (5000, 6000, False),
        (5000, 6001, True),
    ],
)
def test_a_response_time_is_written_when_it_differs_by_half_or_a_second(
    before: int, after: int, changed: bool
) -> None:
    assert plan.is_time_changed(before, after) is changed


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (5, 5, False),
        (5, 6, True),
        (100, 110, False),
        (100, 89, True),
        (40, 44, False),
        (40, 45, True),
    ],
)
def test_a_number_of_repositories_is_written_when_it_differs_by_a_tenth_or_ten(
    before: int, after: int, changed: bool
) -> None:
    assert plan.is_count_changed(before, after) is changed


def test_a_registry_may_take_five_seconds() -> None:
    found = plan.assess_registry(available=True, response_ms=plan.SLOW_MS, authenticated=True)
    assert found is Health.HEALTHY


def test_a_cluster_was_not_failed_unless_said() -> None:
    assert plan.plan_visit(300, Health.HEALTHY) == 300


def test_a_condition_keeps_the_time_since_when_it_has_its_health() -> None:
    down = assess_health(Observation(failure="refused"), Thresholds())
    other = assess_health(Observation(failure="timed out", failure_reason="Timeout"), Thresholds())
    up = assess_health(Observation(), Thresholds())
    first = plan.find_since(down, {}, (), "10:00")
    second = plan.find_since(other, first, (), "10:01")
    assert second["Reachable"].time == "10:00"
    third = plan.find_since(up, second, (), "10:02")
    assert third["Reachable"].time == "10:02"
    assert third["DataFresh"].time == "10:00"


def test_after_a_restart_conditions_of_the_object_tell_since_when() -> None:
    down = assess_health(Observation(failure="refused"), Thresholds())
    known = Condition(
        type="Reachable", status="False", reason="CircuitOpen", last_transition_time="09:00"
    )
    assert plan.find_since(down, {}, [known], "10:00")["Reachable"].time == "09:00"
    up = assess_health(Observation(), Thresholds())
    assert plan.find_since(up, {}, [known], "10:00")["Reachable"].time == "10:00"
    full = Condition(type="DataFresh", status="True", reason="Other", last_transition_time="09:00")
    fresh = assess_health(Observation(age_s=1.0), Thresholds())
    assert plan.find_since(fresh, {}, [full], "10:00")["DataFresh"].time == "10:00"
