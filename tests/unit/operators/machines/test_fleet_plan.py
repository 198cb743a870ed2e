"""The plan of a fleet keeps its promises, whatever happens to the machines."""

import random
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.apis.hypervisor.fleet import Fleet, FleetHealthCheck, FleetSpec
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.desired_fleet import build_desired_fleet
from quarterdeck.operators.machines.features import Flags
from quarterdeck.operators.machines.plan.fleet import Plan, plan_fleet
from quarterdeck.operators.machines.plan.fleet_removal import order_removal
from quarterdeck.operators.machines.plan.fleet_state import (
    DesiredFleet,
    Member,
    is_available,
    is_outdated,
)


def member(name: str, revision: str = "a", **more: object) -> Member:
    values: dict[str, object] = {"age_s": 100.0, "ready_s": 90.0, "was_ready": True, **more}
    return Member(name, revision, **values)  # type: ignore[arg-type]


def fleet(count: int, revision: str = "a", prefix: str = "m") -> list[Member]:
    return [member(f"{prefix}{number}", revision) for number in range(count)]


def removed(plan: Plan) -> set[str]:
    return {each.name for each in plan.remove}


def test_new_fleet_is_made_at_once() -> None:
    assert plan_fleet([], DesiredFleet(3, "a")).create == 3


def test_fleet_at_rest_does_nothing() -> None:
    plan = plan_fleet(fleet(3), DesiredFleet(3, "a"))
    assert (plan.create, plan.remove, plan.check_s) == (0, (), None)


@pytest.mark.parametrize(
    ("min_ready_s", "check_s"),
    [
        pytest.param(0.0, None, id="no minimum time"),
        pytest.param(30.0, 3630.0, id="minimum time"),
    ],
)
def test_machine_that_was_ready_after_the_clock_is_available_without_minimum(
    min_ready_s: float, check_s: float | None
) -> None:
    members = [member("m", ready_s=-3600.0)]
    plan = plan_fleet(members, DesiredFleet(1, "a", min_ready_s=min_ready_s))
    assert (plan.create, plan.remove, plan.check_s) == (0, (), check_s)
    assert plan.available == (1 if check_s is None else 0)


def test_scale_down_takes_those_not_ready_first_then_marked_then_oldest() -> None:
    members = [
        member("old", age_s=500.0),
        member("new", age_s=10.0),
        member("marked", age_s=50.0, is_marked=True),
        member("booting", age_s=5.0, ready_s=None),
    ]
    names = [each.name for each in order_removal(members, DesiredFleet(0, "a"))]
    assert names == ["booting", "marked", "old", "new"]


def test_rolling_update_makes_its_surge_first() -> None:
    plan = plan_fleet(fleet(3), DesiredFleet(3, "b", max_surge=1))
    assert (plan.create, plan.remove) == (1, ())


def test_rolling_update_removes_one_when_the_surge_is_available() -> None:
    members = [*fleet(3), member("new", "b")]
    plan = plan_fleet(members, DesiredFleet(3, "b", max_surge=1))
    assert len(plan.remove) == 1
    assert removed(plan) <= {"m0", "m1", "m2"}
    assert plan.create == 0


def test_surge_zero_removes_before_it_makes() -> None:
    desired = DesiredFleet(3, "b", max_surge=0, max_unavailable=1)
    plan = plan_fleet(fleet(3), desired)
    assert (plan.create, len(plan.remove)) == (0, 1)
    going = [*fleet(2), member("m2", is_deleting=True, ready_s=None)]
    plan = plan_fleet(going, desired)
    assert (plan.create, plan.remove) == (0, ())
    plan = plan_fleet(fleet(2), desired)
    assert (plan.create, plan.remove) == (1, ())


def test_recreate_removes_all_and_waits_until_they_are_gone() -> None:
    desired = DesiredFleet(3, "b", strategy="Recreate")
    assert len(plan_fleet(fleet(3), desired).remove) == 3
    going = [member(f"m{number}", is_deleting=True) for number in range(3)]
    assert plan_fleet(going, desired).create == 0
    assert plan_fleet([], desired).create == 3


def test_on_delete_replaces_nothing_by_itself() -> None:
    desired = DesiredFleet(3, "b", strategy="OnDelete")
    assert plan_fleet(fleet(3), desired)[:2] == (0, ())
    assert plan_fleet(fleet(2), desired).create == 1


def test_paused_fleet_keeps_its_number_and_replaces_nothing() -> None:
    desired = DesiredFleet(3, "b", is_paused=True)
    assert plan_fleet(fleet(3), desired)[:2] == (0, ())
    assert plan_fleet(fleet(2), desired).create == 1


def test_failed_newcomer_is_removed_and_the_next_one_waits() -> None:
    members = [*fleet(2), member("bad", is_failed=True, ready_s=None, was_ready=False)]
    plan = plan_fleet(members, DesiredFleet(3, "a", failures=3, last_failure_s=2.0))
    assert removed(plan) == {"bad"}
    assert plan.create == 0
    assert plan.check_s == pytest.approx(8.0)


def test_too_many_unhealthy_machines_stop_all_repair() -> None:
    broken = [member(f"b{n}", is_failed=True, ready_s=None) for n in range(3)]
    plan = plan_fleet([*fleet(2), *broken], DesiredFleet(5, "a", max_unhealthy=2))
    assert not plan.may_remediate
    assert (plan.create, plan.remove) == (0, ()), "a machine beside a broken one would be a repair"
    plan = plan_fleet(
        [*fleet(3), *broken[:2]], DesiredFleet(5, "a", max_unhealthy=2, max_in_flight=1)
    )
    assert plan.may_remediate
    assert len(plan.remove) == 1


def test_broken_machines_are_replaced_as_fast_as_they_go() -> None:
    broken = [member(f"b{n}", is_failed=True, ready_s=None) for n in range(2)]
    desired = DesiredFleet(5, "a", max_unhealthy=2, max_in_flight=1)
    plan = plan_fleet([*fleet(3), *broken], desired)
    assert (plan.create, len(plan.remove)) == (1, 1)
    skipped = [each._replace(is_skipped=True) for each in broken]
    assert plan_fleet([*fleet(3), *skipped], desired)[:2] == (2, ())


def test_new_revision_replaces_broken_machines_of_the_one_before() -> None:
    broken = [member(f"b{n}", is_failed=True, ready_s=None) for n in range(3)]
    plan = plan_fleet([*fleet(2), *broken], DesiredFleet(5, "b", max_unhealthy=2))
    assert plan.may_remediate
    assert removed(plan) == {"b0"}
    assert plan.create >= 3


def test_share_of_unhealthy_machines_allows_one_in_a_small_fleet() -> None:
    def allow(amount: int | str, replicas: int) -> int:
        check = FleetHealthCheck(max_unhealthy=amount)
        spec = FleetSpec(replicas=replicas, image="i", selector={"a": "b"}, health_check=check)
        web = Fleet(metadata=ObjectMeta(name="web"), spec=spec)
        now = datetime(2026, 1, 1, tzinfo=UTC)
        return build_desired_fleet(web, "a", now=now, flags=Flags()).max_unhealthy

    assert [allow("40%", count) for count in (1, 2, 3, 5, 10)] == [1, 1, 1, 2, 4]
    assert (allow("0%", 10), allow(0, 10), allow(3, 1)) == (0, 0, 3)


def test_budget_of_zero_stops_updates() -> None:
    members = [*fleet(3), member("new", "b")]
    plan = plan_fleet(members, DesiredFleet(3, "b", max_surge=1, budgets={"Update": 0}))
    assert plan.remove == ()


def test_budget_counts_removals_for_other_reasons() -> None:
    members = [*fleet(2, "a"), member("new", "b"), member("old", "b", expires_s=-1.0)]
    desired = DesiredFleet(
        4, "b", max_surge=0, max_unavailable=3, budgets={"Update": 1, "Expired": 1}
    )
    assert len(plan_fleet(members, desired).remove) == 1
    desired = desired._replace(budgets={"Update": 1, "Expired": 2})
    assert len(plan_fleet(members, desired).remove) == 2


def test_budget_of_zero_holds_for_recreation() -> None:
    desired = DesiredFleet(3, "b", strategy="Recreate", budgets={"Update": 0})
    plan = plan_fleet(fleet(3), desired)
    assert (plan.create, plan.remove) == (0, ())
    assert len(plan_fleet(fleet(3), desired._replace(budgets={"Update": 1})).remove) == 3


def test_machine_kept_for_debugging_is_neither_removed_nor_counted() -> None:
    kept = member("kept", is_failed=True, is_kept=True, ready_s=None)
    plan = plan_fleet([*fleet(2), kept], DesiredFleet(3, "a", max_unhealthy=3))
    assert (plan.create, plan.remove) == (1, ())


def test_far_too_many_machines_freeze_the_fleet() -> None:
    plan = plan_fleet([*fleet(20)], DesiredFleet(3, "a", strategy="OnDelete"))
    assert plan.is_frozen
    assert plan.create == 0


class Rolled(NamedTuple):
    """How a simulated roll-out went."""

    turns: int
    lowest: int
    highest: int


def roll(count: int, surge: int, unavailable: int, seed: int, *, failing: float = 0.0) -> Rolled:
    """Roll a fleet over; machines start and stop at random, some never start."""
    rng = random.Random(seed)
    desired = DesiredFleet(
        count, "b", max_surge=surge, max_unavailable=unavailable, max_unhealthy=count
    )
    members = fleet(count)
    number, lowest, highest = 0, count, count
    for turn in range(40 * (count + 2)):
        plan = plan_fleet(members, desired)
        gone = removed(plan)
        members = [
            each._replace(is_deleting=each.is_deleting or each.name in gone) for each in members
        ]
        for _ in range(plan.create):
            number += 1
            members.append(Member(f"n{number}", "b", 0.0))
        lowest = min(lowest, sum(is_available(each, desired) for each in members))
        highest = max(highest, sum(not each.is_broken for each in members))
        if not any(
            is_outdated(each, desired) for each in members
        ) and plan.available == count == len(members):
            return Rolled(turn, lowest, highest)
        moved = []
        for each in members:
            if each.is_deleting and rng.random() < 0.5:
                continue
            if each.ready_s is None and not each.is_failed and rng.random() < 0.5:
                if rng.random() < failing:
                    each = each._replace(is_failed=True)
                elif not each.is_deleting:
                    each = each._replace(ready_s=1.0, was_ready=True)
            moved.append(each)
        members = moved
    raise AssertionError(f"the roll-out did not end: {members}")


@settings(max_examples=25)
@given(
    count=st.integers(1, 8),
    surge=st.integers(0, 4),
    unavailable=st.integers(0, 4),
    seed=st.integers(0, 2**32),
    failing=st.sampled_from([0.0, 0.2]),
)
def test_roll_out_ends_and_never_breaks_its_limits(
    count: int, surge: int, unavailable: int, seed: int, failing: float
) -> None:
    if not surge and not unavailable:
        unavailable = 1
    rolled = roll(count, surge, unavailable, seed, failing=failing)
    assert rolled.lowest >= max(0, count - unavailable)
    assert rolled.highest <= count + surge


MEMBERS = st.lists(
    st.builds(
        Member,
        name=st.uuids().map(str),
        revision=st.sampled_from("abc"),
        age_s=st.floats(0, 1e6),
        ready_s=st.none() | st.floats(0, 1e6),
        is_deleting=st.booleans(),
        is_failed=st.booleans(),
        was_ready=st.booleans(),
        unhealthy=st.sampled_from(["", "", "ill"]),
        is_marked=st.booleans(),
        is_kept=st.booleans(),
        is_skipped=st.booleans(),
        expires_s=st.none() | st.floats(-10, 10),
    ),
    max_size=20,
    unique_by=lambda each: each.name,
)
WISHES = st.builds(
    DesiredFleet,
    desired=st.integers(0, 12),
    revision=st.sampled_from("ab"),
    strategy=st.sampled_from(["RollingUpdate", "Recreate", "OnDelete"]),
    max_surge=st.integers(0, 3),
    max_unavailable=st.integers(0, 3),
    min_ready_s=st.sampled_from([0.0, 10.0]),
    is_paused=st.booleans(),
    delete_policy=st.sampled_from(["Random", "Newest", "Oldest"]),
    max_unhealthy=st.integers(0, 12),
    max_in_flight=st.integers(1, 3),
    may_repair=st.booleans(),
    failures=st.integers(0, 8),
    last_failure_s=st.none() | st.floats(0, 100),
    budgets=st.dictionaries(st.sampled_from(["Update", "Expired", "Unhealthy"]), st.integers(0, 3)),
)


@given(members=MEMBERS, desired=WISHES)
def test_one_plan_breaks_no_limit_from_any_state(
    members: list[Member], desired: DesiredFleet
) -> None:
    plan = plan_fleet(members, desired)
    names = [each.name for each in plan.remove]
    assert len(names) == len(set(names))
    by_name = {each.name: each for each in members}
    assert not any(
        by_name[name].is_deleting or (by_name[name].is_kept and by_name[name].is_failed)
        for name in names
    )
    here = sum(not each.is_broken for each in members)
    assert plan.create == 0 or here + plan.create <= desired.desired + desired.max_surge
    if desired.strategy == "RollingUpdate":
        before = sum(is_available(each, desired) for each in members)
        taken = sum(
            is_available(by_name[each.name], desired)
            for each in plan.remove
            if each.reason in ("Update", "Expired")
        )
        assert taken == 0 or before - taken >= desired.desired - desired.max_unavailable
    if desired.is_paused:
        assert not any(each.reason in ("Update", "Expired") for each in plan.remove)


def test_the_oldest_of_the_failed_is_repaired_first() -> None:
    broken = [
        member("ill", unhealthy="no heartbeat", age_s=900.0),
        member("young", is_failed=True, ready_s=None, age_s=10.0),
        member("old", is_failed=True, ready_s=None, age_s=500.0),
    ]
    desired = DesiredFleet(5, "a", max_in_flight=1, max_unhealthy=5)
    assert removed(plan_fleet([*broken, *fleet(2)], desired)) == {"old"}


def test_recreate_does_not_wait_for_machines_that_are_broken_and_going() -> None:
    desired = DesiredFleet(2, "b", strategy="Recreate")
    lost = member("lost", is_failed=True, is_deleting=True, ready_s=None)
    assert plan_fleet([lost], desired).create == 2
    assert plan_fleet([member("new", "b")], desired).create == 1


def test_a_machine_that_becomes_available_or_too_old_is_looked_at_in_time() -> None:
    fresh = member("fresh", ready_s=20.0)
    assert plan_fleet([fresh], DesiredFleet(1, "a", min_ready_s=30.0)).check_s == 10.0
    aging = member("aging", expires_s=7.0)
    assert plan_fleet([aging], DesiredFleet(1, "a")).check_s == 7.0


def test_a_machine_expires_when_its_time_is_over() -> None:
    assert member("now", expires_s=0.0).is_expired
    assert not member("soon", expires_s=1.0).is_expired


def test_updated_machines_are_those_of_the_new_revision() -> None:
    plan = plan_fleet([*fleet(2), member("new", "b")], DesiredFleet(3, "b"))
    assert (plan.updated, plan.outdated) == (1, 2)
