"""Sharding simulated: slow requests, lost answers, pauses and crashes, on one simulated time."""

import random
from collections.abc import Generator

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.sharding.rendezvous import choose_member
from quarterdeck.runtime.sharding.state import Claim, Release, ShardLease, ShardState, Snapshot

SHARDS = 6
TIMING = LeaseTiming(lease_duration_s=15.0, renew_deadline_s=10.0, retry_period_s=2.0)
Step = Generator[float, None, None]
"""Yields how long the member waits, for an answer or between two rounds."""


class Server:
    """Leases with resource versions."""

    def __init__(self) -> None:
        self.revision = 0
        self.members: dict[str, str] = {}
        self.shards: dict[int, ShardLease] = {}

    def renew(self, identity: str) -> None:
        self.revision += 1
        self.members[identity] = str(self.revision)

    def write(self, shard: int, holder: str, version: str) -> bool:
        found = self.shards.get(shard)
        if (found.version if found else "") != version:
            return False
        self.revision += 1
        self.shards[shard] = ShardLease(holder, str(self.revision))
        return True

    def read(self) -> Snapshot:
        return Snapshot(dict(self.members), dict(self.shards))


class World:
    """Members that take turns in the order of their next step."""

    def __init__(self, seed: int, *, faults: bool) -> None:
        self.random = random.Random(seed)
        self.faults = faults
        self.now = 0.0
        self.server = Server()
        self.states: dict[str, ShardState] = {}
        self.agenda: dict[str, tuple[float, Step]] = {}

    def join(self, identity: str) -> None:
        self.states[identity] = ShardState(identity, SHARDS, TIMING)
        self.agenda[identity] = (self.now, self.live(identity))

    def crash(self, identity: str) -> None:
        del self.agenda[identity]
        del self.states[identity]

    def live(self, identity: str) -> Step:
        state = self.states[identity]
        while True:
            yield from self.take_part(state)
            yield TIMING.retry_period_s

    def take_part(self, state: ShardState) -> Step:
        asked_at = self.now
        yield self.delay()
        if self.is_lost():
            return
        self.server.renew(state.identity)
        yield self.delay()
        if self.is_lost():
            return
        state.record_renewal(asked_at, self.now)
        snapshot = self.server.read()
        yield self.delay()
        state.observe(snapshot, self.now)
        for action in state.plan(snapshot, self.now):
            if isinstance(action, Release):
                state.held.discard(action.shard)
            yield self.delay()
            holder = state.identity if isinstance(action, Claim) else ""
            is_written = self.server.write(action.shard, holder, action.version)
            yield self.delay()
            if is_written and isinstance(action, Claim) and not self.is_lost():
                state.record_claim(action.shard)

    def delay(self) -> float:
        if not self.faults:
            return 0.01
        return self.random.choice((0.0, 0.01, 0.3, 4.0, self.random.uniform(0, 25)))

    def is_lost(self) -> bool:
        return self.faults and self.random.random() < 0.1

    def step(self) -> None:
        identity = min(self.agenda, key=lambda each: self.agenda[each][0])
        at, steps = self.agenda[identity]
        self.now = max(self.now, at)
        self.check()
        self.agenda[identity] = (self.now + next(steps), steps)
        self.check()

    def owners(self, shard: int) -> list[str]:
        return [name for name, each in self.states.items() if each.owns(shard, self.now)]

    def check(self) -> None:
        for shard in range(SHARDS):
            owners = self.owners(shard)
            assert len(owners) <= 1, f"{owners} own shard {shard} at {self.now}"

    def run_until(self, moment: float) -> None:
        while self.agenda and min(at for at, _ in self.agenda.values()) < moment:
            self.step()
        self.now = moment


@settings(max_examples=count_examples(150), deadline=None)
@given(seed=st.integers(0, 2**32), events=st.lists(st.sampled_from("jcr"), max_size=8))
def test_no_shard_ever_has_two_owners(seed: int, events: list[str]) -> None:
    world = World(seed, faults=True)
    for number in range(2):
        world.join(f"first-{number}")
    for number, event in enumerate(events):
        world.run_until(world.now + world.random.uniform(1, 60))
        known = sorted(world.states)
        if event == "j" or not known:
            world.join(f"member-{number}")
        elif event == "c":
            world.crash(world.random.choice(known))
        else:  # the process is paused and goes on later
            name = world.random.choice(known)
            at, steps = world.agenda[name]
            world.agenda[name] = (at + world.random.uniform(5, 40), steps)
    world.run_until(world.now + 120)


@given(seed=st.integers(0, 2**32), members=st.integers(1, 4))
def test_every_shard_gets_the_member_that_rendezvous_chooses(seed: int, members: int) -> None:
    world = World(seed, faults=False)
    names = [f"member-{number}-{seed}" for number in range(members)]
    for name in names:
        world.join(name)
    world.run_until(10)
    for shard in range(SHARDS):
        assert world.owners(shard) == [choose_member(shard, names)]


@given(seed=st.integers(0, 2**32))
def test_the_shards_of_a_lost_member_are_taken_within_twenty_seconds(seed: int) -> None:
    world = World(seed, faults=False)
    names = [f"{name}-{seed}" for name in ("a", "b")]
    for name in names:
        world.join(name)
    world.run_until(10)
    world.crash(names[0])
    world.run_until(30)
    assert all(world.owners(shard) == [names[1]] for shard in range(SHARDS))


def test_a_member_that_stops_renewing_owns_nothing_before_others_may_take_it() -> None:
    world = World(1, faults=False)
    world.join("a")
    world.run_until(5)
    state = world.states["a"]
    assert state.held
    assert not any(state.owns(shard, state.valid_until) for shard in range(SHARDS))
    assert state.valid_until < world.now + TIMING.lease_duration_s
    assert state.drop_if_expired(state.valid_until) == frozenset(range(SHARDS))


def test_a_lease_that_somebody_deleted_is_not_held_any_more() -> None:
    world = World(1, faults=False)
    world.join("a")
    world.run_until(5)
    state = world.states["a"]
    del world.server.shards[2]
    actions = state.plan(world.server.read(), world.now)
    assert actions == [Claim(2, "")]
    assert 2 not in state.held


def test_members_that_are_gone_for_long_are_named_and_we_never_are() -> None:
    state = ShardState("me", SHARDS, TIMING)
    state.observe(Snapshot({"me": "1", "other": "2"}, {}), 0.0)
    assert state.find_live(14.9) == {"me", "other"}
    assert state.find_live(15.0) == {"me"}
    assert state.find_dead(299.0, after_s=300.0) == frozenset()
    assert state.find_dead(300.0, after_s=300.0) == {"other"}


@pytest.mark.parametrize(("identity", "count"), [("", 1), ("a", 0)])
def test_an_empty_identity_and_zero_shards_are_refused(identity: str, count: int) -> None:
    with pytest.raises(ValueError, match="must"):
        ShardState(identity, count, TIMING)
