"""Leader election on clocks of different rates: at most one leader, quick and clean take-over."""

import heapq
import random
from datetime import UTC, datetime, timedelta

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.runtime.leaderelection.state import (
    ElectionState,
    LeaderElectionRecord,
)
from quarterdeck.runtime.leaderelection.timing import LeaseTiming

START = datetime(2026, 1, 1, tzinfo=UTC)


class Candidate:
    """An elector with a clock of its own rate and offset; requests may be lost."""

    def __init__(self, name: str, *, rate: float, offset: float, timing: LeaseTiming) -> None:
        self.elector = ElectionState(name, timing)
        self.rate = rate
        self.offset = offset
        self.known: LeaderElectionRecord | None = None
        self.is_paused = False

    def local(self, real: float) -> float:
        return real * self.rate + self.offset

    def is_leading(self, real: float) -> bool:
        return self.elector.is_leading(self.local(real))


class Election:
    """A lease and its candidates in one simulated world."""

    def __init__(self, rates: list[float], seed: int, loss: float = 0.0) -> None:
        self.timing = LeaseTiming()
        self.random = random.Random(seed)
        self.loss = loss
        self.claim: LeaderElectionRecord | None = None
        self.candidates = [
            Candidate(f"c{n}", rate=rate, offset=self.random.uniform(-1e6, 1e6), timing=self.timing)
            for n, rate in enumerate(rates)
        ]
        self.agenda = [(self.random.random() * 2, n) for n in range(len(rates))]
        self.overlaps = 0
        self.transitions: list[int] = []
        self.led_at: list[float] = []

    def attempt(self, candidate: Candidate, real: float) -> None:
        now = candidate.local(real)
        wall = START + timedelta(seconds=now)
        if self.random.random() < self.loss:
            return  # the request is lost
        planned = candidate.elector.plan(self.claim, now, wall)
        if planned is None:
            candidate.elector.resign()
            return
        before, self.claim = self.claim, planned
        if before is None or before.holder != planned.holder:
            self.transitions.append(planned.transitions)
        if self.random.random() < self.loss:
            return  # it was stored, but we never learnt
        candidate.elector.record_write(planned, now)

    def run(self, until: float) -> None:
        heapq.heapify(self.agenda)
        while self.agenda[0][0] < until:
            real, number = heapq.heappop(self.agenda)
            candidate = self.candidates[number]
            if not candidate.is_paused:
                self.attempt(candidate, real)
            leaders = [each for each in self.candidates if each.is_leading(real)]
            self.overlaps += len(leaders) > 1
            if leaders:
                self.led_at.append(real)
            retry = self.timing.retry_period_s
            if not candidate.is_leading(real):
                retry *= self.random.uniform(1.0, 2.2)
            heapq.heappush(self.agenda, (real + retry / candidate.rate, number))

    @property
    def leader(self) -> Candidate | None:
        holder = self.claim.holder if self.claim else ""
        return next((c for c in self.candidates if c.elector.identity == holder), None)


@settings(max_examples=count_examples(60), deadline=None)
@given(
    rates=st.lists(st.floats(1.0, 1.45), min_size=2, max_size=4),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_two_never_lead_at_once_while_rates_differ_by_less_than_half(
    rates: list[float], seed: int, loss: float
) -> None:
    election = Election(rates, seed, loss)
    election.run(600)
    assert election.overlaps == 0
    assert election.transitions == list(range(len(election.transitions)))
    assert election.led_at, "somebody leads most of the time"


def test_twice_as_fast_a_clock_shows_why_the_rule_exists() -> None:
    assert any(_overlaps(seed) for seed in range(200))


def _overlaps(seed: int) -> bool:
    election = Election([1.0, 2.5], seed, loss=0.45)
    election.run(900)
    return election.overlaps > 0


def test_a_crashed_leader_is_followed_within_the_known_bounds() -> None:
    for seed in range(30):
        election = Election([1.0, 1.0], seed)
        election.run(60)
        leader = election.leader
        assert leader is not None
        leader.is_paused = True
        renewed_at = max(election.led_at)
        election.run(120)
        successor = election.leader
        assert successor is not leader
        taken_over = next(t for t in election.led_at if t > renewed_at + 10)
        assert 10 <= taken_over - renewed_at <= 24


def test_a_released_lease_is_free_at_once() -> None:
    timing = LeaseTiming()
    old, new = ElectionState("old", timing), ElectionState("new", timing)
    claim = old.plan(None, 0.0, START)
    assert claim is not None
    old.record_write(claim, 0.0)
    assert new.plan(claim, 0.1, START) is None
    freed = old.build_release(claim, START)
    assert freed is not None
    assert freed.holder == ""
    taken = new.plan(freed, 0.2, START)
    assert taken is not None
    assert (taken.holder, taken.transitions) == ("new", 1)
    assert new.build_release(claim, START) is None


def test_a_leader_keeps_its_acquire_time_and_count() -> None:
    elector = ElectionState("me", LeaseTiming())
    first = elector.plan(None, 0.0, START)
    assert first is not None
    elector.record_write(first, 0.0)
    later = elector.plan(first, 2.0, START + timedelta(seconds=2))
    assert later is not None
    assert (later.acquired, later.transitions) == (first.acquired, 0)
    assert later.renewed != first.renewed


@pytest.mark.parametrize(
    "timing",
    [
        pytest.param(LeaseTiming(10, 10, 2), id="lease not above renew"),
        pytest.param(LeaseTiming(15, 2, 2), id="renew not above retry"),
        pytest.param(LeaseTiming(15, 10, 0), id="no retry"),
    ],
)
def test_impossible_timings_are_refused(timing: LeaseTiming) -> None:
    with pytest.raises(ValueError, match="lease_duration_s > renew_deadline_s"):
        ElectionState("me", timing)


def test_a_leader_that_was_paused_wakes_up_as_a_follower() -> None:
    for seed in range(30):
        election = Election([1.0, 1.2], seed)
        election.run(60)
        leader = election.leader
        assert leader is not None
        leader.is_paused = True
        election.run(120)
        leader.is_paused = False
        assert not leader.is_leading(120)
        election.run(240)
        assert election.overlaps == 0
        assert election.leader is not leader
