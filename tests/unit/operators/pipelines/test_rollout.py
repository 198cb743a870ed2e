"""The state machine of a rollout: what is sent at every point, and what can never happen."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.fleetmanagement.rollout import Rollout, RolloutStatus, RolloutStep
from quarterdeck.operators.pipelines.ports import PartDelivery
from quarterdeck.operators.pipelines.rollout import Decision, Observed, Send, decide

START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS = (
    RolloutStep(weight=10, duration="5m"),
    RolloutStep(weight=50, duration="5m"),
)
ROLLOUT = Rollout(steps=STEPS)


def reports(**counts: Any) -> PartDelivery:
    return PartDelivery("d", **{"assigned": 3, "applied": 3, **counts})


def see(minutes: float = 0, *, stable: str = "old", **more: Any) -> Observed:
    found = {"candidate": "new", "reports": reports(), **more}
    return Observed(stable=stable, now=START + timedelta(minutes=minutes), **found)


def run(rollout: Rollout, *seen: Observed) -> Decision:
    """Decide again and again, each time from the status that the last decision left."""
    status: RolloutStatus | None = None
    decision = Decision(Send.ALL, None)
    for each in seen:
        decision = decide(rollout, status, each)
        status = decision.status
    return decision


def test_without_steps_everything_goes_at_once() -> None:
    assert decide(None, None, see()) == Decision(Send.ALL, None)


def test_a_rollout_takes_its_steps_and_ends() -> None:
    first = run(ROLLOUT, see(0))
    assert (first.send, first.status.weight, first.step) == (Send.STEP, 10, 0)  # type: ignore[union-attr]
    assert run(ROLLOUT, see(0), see(4)).step == 0
    assert run(ROLLOUT, see(0), see(5)).step == 1
    assert run(ROLLOUT, see(0), see(5), see(9)).send is Send.STEP
    done = run(ROLLOUT, see(0), see(5), see(10))
    assert (done.send, done.status.phase) == (Send.ALL, "Promoted")  # type: ignore[union-attr]


def test_failures_roll_back_and_quarantine_until_the_text_changes() -> None:
    failed = see(1, reports=reports(failed=1, failures=("edge-1: bad",)))
    back = run(ROLLOUT, see(0), failed)
    assert back.must_be_recorded and back.send is Send.STABLE
    assert back.status is not None and back.status.quarantined == "new"
    assert back.status.message == "1 collector reported FAILED: edge-1: bad"
    assert back.after_s is not None and back.after_s > 0.0  # zero is refused by the controller
    again = run(ROLLOUT, see(0), failed, see(60), see(600))
    assert again.send is Send.STABLE and not again.must_be_recorded
    other = run(ROLLOUT, see(0), failed, see(60, candidate="newer"))
    assert other.send is Send.STEP
    back_again = run(ROLLOUT, see(0), failed, see(60, candidate="newer"), see(61))
    assert back_again.send is Send.STABLE  # the quarantine outlives another candidate


def test_allowed_failures_do_not_roll_back() -> None:
    rollout = Rollout(steps=STEPS, max_failures=1)
    assert run(rollout, see(0), see(1, reports=reports(failed=1))).send is Send.STEP
    assert run(rollout, see(0), see(1, reports=reports(failed=2))).send is Send.STABLE


def test_a_step_without_evidence_waits() -> None:
    nothing = see(30, reports=reports(applied=0, stale=3))
    assert run(ROLLOUT, see(0), nothing).step == 0
    nobody = see(30, reports=PartDelivery("d"))
    assert run(ROLLOUT, see(0), nobody).step == 1


def test_a_pause_and_a_missing_duration_wait_for_people() -> None:
    paused = run(Rollout(steps=STEPS, paused=True), see(0), see(600))
    assert paused.status is not None and (paused.step, paused.status.phase) == (0, "Paused")
    manual = Rollout(steps=(RolloutStep(weight=10), STEPS[1]))
    waiting = run(manual, see(0), see(600))
    assert waiting.status is not None and waiting.status.phase == "WaitingForApproval"
    assert run(manual, see(0), see(600, approval="new:0")).step == 1
    assert run(manual, see(0), see(600, approval="other:0")).step == 0
    assert run(manual, see(0), see(1, approval="new")).send is Send.ALL


def test_a_server_that_does_not_tell_waits_unless_told_otherwise() -> None:
    blind = see(600, reports=None)
    waiting = run(ROLLOUT, see(0, reports=None), blind)
    assert waiting.status is not None and waiting.status.phase == "WaitingForApproval"
    eager = Rollout(steps=STEPS, without_delivery="Promote")
    assert run(eager, see(0, reports=None), blind).step == 1


def test_a_lost_status_after_the_promotion_is_noticed() -> None:
    done = run(ROLLOUT, see(0), see(5), see(10, stable="new"))
    assert (done.send, done.status.phase) == (Send.ALL, "Promoted")  # type: ignore[union-attr]


observations = st.builds(
    lambda minutes, candidate, stable, counts, approval: Observed(
        candidate=candidate,
        stable=stable,
        now=START + timedelta(minutes=minutes),
        reports=counts,
        approval=approval,
    ),
    st.integers(0, 100),
    st.sampled_from(["new", "newer"]),
    st.sampled_from(["", "old", "new"]),
    st.none()
    | st.builds(
        lambda assigned, applied, failed: PartDelivery(
            "d", assigned=assigned, applied=applied, failed=failed
        ),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    st.sampled_from(["", "", "", "new", "new:0", "newer:1"]),
)
rollouts = st.builds(
    Rollout,
    steps=st.lists(
        st.builds(
            RolloutStep,
            weight=st.sampled_from([10, 50]),
            duration=st.sampled_from(["", "5m", "30m"]),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
    paused=st.booleans(),
    max_failures=st.integers(0, 2),
    without_delivery=st.sampled_from(["Wait", "Promote"]),
)


@given(rollouts, st.lists(observations, min_size=1, max_size=12), st.data())
def test_whatever_happens_a_failed_text_is_never_sent_again(
    rollout: Rollout, story: list[Observed], data: st.DataObject
) -> None:
    status: RolloutStatus | None = None
    quarantined: set[str] = set()
    for seen in sorted(story, key=lambda each: each.now):
        decision = decide(rollout, status, seen)
        assert decision.status is not None
        if decision.must_be_recorded:
            quarantined = {seen.candidate}
            assert seen.reports is not None and seen.reports.failed > rollout.max_failures
        is_approved = seen.approval == seen.candidate
        if seen.candidate in quarantined and not is_approved:
            assert decision.send is Send.STABLE
        if is_approved:
            quarantined.discard(seen.candidate)
        if decision.send is Send.STEP:
            assert 0 <= decision.step < len(rollout.steps)
            assert decision.after_s is not None and decision.after_s >= 1.0
        crashed = data.draw(st.booleans()) and not decision.must_be_recorded
        status = status if crashed else decision.status  # a verdict is stored before it is acted on


@pytest.mark.parametrize("at", range(4))
def test_a_decision_made_twice_is_the_same(at: int) -> None:
    story = [see(0), see(5), see(10), see(20)]
    status: RolloutStatus | None = None
    for seen in story[:at]:
        status = decide(ROLLOUT, status, seen).status
    assert decide(ROLLOUT, status, story[at]) == decide(ROLLOUT, status, story[at])
