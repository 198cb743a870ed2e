"""The workqueue against a model: invariants I1-I11 on virtual time, priorities, fairness."""

import asyncio
import weakref
from collections import Counter

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.queue.dispatcher import Dispatcher
from quarterdeck.runtime.queue.rate_limiter import (
    ItemExponentialFailureRateLimiter,
)
from quarterdeck.runtime.queue.workqueue import LOW_PRIORITY, WorkQueue

KEYS = st.integers(0, 5)


class Counts:
    """Counts what a metrics observer would."""

    def __init__(self) -> None:
        self.depth: Counter[int] = Counter()
        self.waits: list[float] = []
        self.works: list[float] = []
        self.retries = 0

    def on_add(self, priority: int) -> None:
        self.depth[priority] += 1

    def on_get(self, priority: int, waited_s: float) -> None:
        self.depth[priority] -= 1
        self.waits.append(waited_s)

    def on_priority_change(self, before: int, after: int) -> None:
        self.depth[before] -= 1
        self.depth[after] += 1

    def on_done(self, worked_s: float) -> None:
        self.works.append(worked_s)

    def on_retry(self) -> None:
        self.retries += 1


class Stepped:
    """A clock a state machine can step without an event loop."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.virtual = VirtualClock()

    def now(self):  # type: ignore[no-untyped-def]
        return self.virtual.now()

    def monotonic(self) -> float:
        return self.elapsed

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the pure queue never sleeps")


class QueueMachine(RuleBasedStateMachine):
    """Producers, three workers and time, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Stepped()
        self.counts = Counts()
        self.queue: WorkQueue[int] = WorkQueue(
            self.clock,
            rate_limiter=ItemExponentialFailureRateLimiter(1.0, 8.0),
            observer=self.counts,
        )
        self.processing: set[int] = set()
        self.due: dict[int, float] = {}  # first effective add of a key that waits for a worker
        self.delayed: dict[int, tuple[float, int]] = {}  # when, and in which order it was asked
        self.asked = 0
        self.fifo: list[int] = []

    def model_due(self, key: int) -> None:
        self.delayed.pop(key, None)
        if key not in self.due:
            self.due[key] = self.clock.elapsed
            if key not in self.processing:
                self.fifo.append(key)

    def model_time(self) -> None:
        ready = sorted(
            (at, asked, key)
            for key, (at, asked) in self.delayed.items()
            if at <= self.clock.elapsed
        )
        for _, _, key in ready:
            self.model_due(key)

    @rule(key=KEYS)
    def add(self, key: int) -> None:
        accepted = self.queue.add(key)
        assert accepted is not self.queue.closed
        if accepted:
            self.model_time()
            self.model_due(key)

    @rule(key=KEYS, after=st.integers(1, 5))
    def add_after(self, key: int, after: int) -> None:
        if not self.queue.add(key, after_s=after):
            return
        self.model_time()
        if key not in self.due:
            at = self.clock.elapsed + after
            self.asked += 1
            self.delayed[key] = min(self.delayed.get(key, (at, self.asked)), (at, self.asked))

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.elapsed += 1
            self.queue.release()
            self.model_time()

    @precondition(lambda self: len(self.processing) < 3)
    @rule()
    def pop(self) -> None:
        item = self.queue.pop()
        if item is None:
            assert not self.fifo
            return
        assert item.key not in self.processing  # I3
        assert item.key == self.fifo.pop(0)  # I6
        assert item.waited_s == self.clock.elapsed - self.due.pop(item.key)  # I9
        self.processing.add(item.key)

    @rule(key=KEYS)
    def done(self, key: int) -> None:
        self.queue.done(key)  # I10: also without a pop, also twice
        if key in self.processing:
            self.processing.remove(key)
            if key in self.due:
                self.fifo.append(key)  # I4, I6: once more, at the tail

    @precondition(lambda self: not self.queue.closed)
    @rule()
    def close(self) -> None:
        self.queue.close()
        self.delayed.clear()

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert len(self.queue) == len(self.fifo) == len(set(self.fifo))  # I1, I2
        assert set(self.queue.processing) == self.processing
        assert not set(self.fifo) & self.processing
        assert self.queue.depth == len(self.due) == sum(self.counts.depth.values())  # I8
        for key, (at, _) in self.delayed.items():
            assert self.queue.due_at(key) == at

    def teardown(self) -> None:
        """I5, I7: everything due is delivered, even after a close."""
        for key in list(self.processing):
            self.done(key)
        while self.fifo:
            self.pop()
            for key in list(self.processing):
                self.done(key)
        assert self.queue.pop() is None
        assert self.queue.depth == 0


QueueMachine.TestCase.settings = settings(
    max_examples=count_examples(150), stateful_step_count=40, deadline=None
)
TestQueueMachine = QueueMachine.TestCase


@given(st.lists(st.tuples(KEYS, st.integers(-3, 3)), max_size=30))
def test_priorities_come_first_then_first_come(adds: list[tuple[int, int]]) -> None:
    queue: WorkQueue[int] = WorkQueue(Stepped())
    model: dict[int, tuple[int, int]] = {}
    for position, (key, priority) in enumerate(adds):
        queue.add(key, priority=priority)
        if key not in model or priority > model[key][0]:
            model[key] = (priority, position)  # a raised priority goes to the end of its class
    expected = sorted(model, key=lambda key: (-model[key][0], model[key][1]))
    order = []
    while (item := queue.pop()) is not None:
        order.append(item.key)
        assert item.priority == model[item.key][0]
    assert order == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_tenants_take_turns(tenants: list[int]) -> None:
    queue: WorkQueue[Key] = WorkQueue(Stepped(), tenant=lambda key: key.namespace)
    for number, tenant in enumerate(tenants):
        queue.add(Key(str(tenant), str(number)))
    served: Counter[str] = Counter()
    left = Counter(str(tenant) for tenant in tenants)
    per_tenant: dict[str, list[int]] = {}
    while (item := queue.pop()) is not None:
        tenant_of = item.key.namespace
        served[tenant_of] += 1
        left[tenant_of] -= 1
        per_tenant.setdefault(tenant_of, []).append(int(item.key.name))
        waiting = [name for name, count in left.items() if count > 0]
        assert all(served[tenant_of] - served[other] <= 1 for other in waiting)
    assert all(names == sorted(names) for names in per_tenant.values())


def test_only_a_delayed_key_has_a_time() -> None:
    queue: WorkQueue[int] = WorkQueue(clock=VirtualClock())
    assert queue.due_at(1) is None
    queue.add(1)
    queue.add(2, after_s=5.0)
    assert queue.due_at(1) is None, "it is ready"
    assert queue.due_at(2) is not None
    taken = queue.pop()
    assert taken is not None
    assert queue.due_at(taken.key) is None, "it is being processed"


def test_steady_urgent_work_does_not_starve_low_priority() -> None:
    clock = Stepped()
    queue: WorkQueue[str] = WorkQueue(clock)
    for number in range(20):
        queue.add(f"low-{number}", priority=LOW_PRIORITY)
    finished = []
    for turn in range(2000):
        clock.elapsed += 0.05
        queue.add(f"urgent-{turn}")
        if turn % 2:
            queue.add(f"more-{turn}")  # more urgent work than one worker can do
        item = queue.pop()
        assert item is not None
        finished.append(item.key)
        queue.done(item.key)
    assert sum(key.startswith("low") for key in finished) == 20


def test_an_immediate_add_absorbs_a_delay_and_the_earliest_delay_wins() -> None:
    clock = Stepped()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a", after_s=10)
    queue.add("a", after_s=5)
    queue.add("a", after_s=7)
    assert queue.next_delay_s() == 5
    queue.add("a")
    assert queue.next_delay_s() is None
    assert queue.pop() is not None
    queue.done("a")
    clock.elapsed = 60
    assert queue.pop() is None


def test_causes_are_kept_with_the_key_and_bounded() -> None:
    queue: WorkQueue[str] = WorkQueue(Stepped())
    for number in range(9):
        queue.add("a", cause=number)
    item = queue.pop()
    assert item is not None
    assert item.causes == (0, 1, 2, 3)


def test_rate_limited_adds_double_until_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(Stepped(), rate_limiter=ItemExponentialFailureRateLimiter())
    delays = []
    for _ in range(3):
        queue.add("a", rate_limited=True)
        delays.append(queue.next_delay_s())
        queue.add("a")
        queue.pop()
        queue.done("a")
    assert delays == [0.005, 0.01, 0.02]
    queue.forget("a")
    queue.add("a", rate_limited=True)
    assert queue.next_delay_s() == 0.005


def test_exponential_delays_reach_the_cap_after_nineteen_failures() -> None:
    rate_limiter = ItemExponentialFailureRateLimiter()
    delays = [rate_limiter.when("a", 0.0) for _ in range(2000)]
    assert delays[17] == pytest.approx(655.36)
    assert delays[18:] == [1000.0] * len(delays[18:])
    assert rate_limiter.num_requeues("a") == 2000


async def test_one_add_wakes_exactly_one_worker() -> None:
    clock = VirtualClock()
    dispatcher: Dispatcher[str] = Dispatcher(WorkQueue(clock), clock)
    got: list[str] = []

    async def worker() -> None:
        while (item := await dispatcher.get()) is not None:
            got.append(item.key)
            dispatcher.done(item.key)

    async with asyncio.TaskGroup() as group:
        group.create_task(dispatcher.run())
        for _ in range(3):
            group.create_task(worker())
        await clock.advance(0)
        dispatcher.add("a")
        dispatcher.add("b", after_s=5)
        dispatcher.add("c", after_s=2)
        await clock.advance(1)
        assert got == ["a"]
        await clock.advance(4)
        assert got == ["a", "c", "b"]
        dispatcher.close()
        await dispatcher.wait_drained()


async def test_a_cancelled_worker_passes_its_wake_up_on() -> None:
    clock = VirtualClock()
    dispatcher: Dispatcher[str] = Dispatcher(WorkQueue(clock), clock)
    first = asyncio.ensure_future(dispatcher.get())
    second = asyncio.ensure_future(dispatcher.get())
    await clock.advance(0)
    dispatcher.add("a")
    first.cancel()
    item = await second
    assert item is not None
    assert item.key == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


def test_the_observer_learns_how_long_a_key_was_worked_on() -> None:
    clock, counts = Stepped(), Counts()
    queue: WorkQueue[str] = WorkQueue(clock, observer=counts)
    clock.elapsed = 100.0
    queue.add("a")
    assert queue.pop() is not None
    clock.elapsed = 107.5
    queue.done("a")
    queue.done("a")
    assert counts.works == [7.5]


def test_pop_hands_out_a_delayed_key_that_became_due() -> None:
    clock = Stepped()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a", after_s=5.0)
    assert queue.pop() is None
    clock.elapsed += 5.0
    handed = queue.pop()
    assert handed is not None and handed.key == "a"


def test_the_observer_learns_that_a_waiting_key_became_more_urgent() -> None:
    counts = Counts()
    queue: WorkQueue[str] = WorkQueue(Stepped(), observer=counts)
    queue.add("a", priority=LOW_PRIORITY)
    queue.add("a", priority=5)
    assert (counts.depth[LOW_PRIORITY], counts.depth[5]) == (0, 1)
    queue.add("later", priority=1, after_s=10)
    queue.add("later", priority=7, after_s=10)
    assert (counts.depth[1], counts.depth[7]) == (0, 0)  # not due: not counted yet


def test_keys_with_different_causes_keep_their_own() -> None:
    queue: WorkQueue[str] = WorkQueue(Stepped())
    first, second = object(), object()
    for key, cause in (("a", first), ("b", first), ("c", second), ("d", first)):
        queue.add(key, cause=cause)
    found = [queue.pop() for _ in range(4)]
    assert [item.causes for item in found if item] == [(first,), (first,), (second,), (first,)]


async def test_a_drain_ends_with_the_last_key_and_not_before() -> None:
    clock = VirtualClock()
    dispatcher: Dispatcher[str] = Dispatcher(WorkQueue(clock), clock)
    dispatcher.add("a")
    dispatcher.add("b")
    await dispatcher.get()
    await dispatcher.get()
    dispatcher.close()
    draining = asyncio.ensure_future(dispatcher.wait_drained())
    dispatcher.done("a")
    await asyncio.sleep(0)
    assert not draining.done()
    dispatcher.done("b")
    await draining


async def test_a_drain_does_not_end_before_the_queue_is_closed() -> None:
    clock = VirtualClock()
    dispatcher: Dispatcher[str] = Dispatcher(WorkQueue(clock), clock)
    dispatcher.add("a")
    await dispatcher.get()
    dispatcher.done("a")
    draining = asyncio.ensure_future(dispatcher.wait_drained())
    await asyncio.sleep(0)
    assert not draining.done()
    dispatcher.close()
    await draining


async def test_key_that_was_added_while_it_was_processed_wakes_another_worker() -> None:
    clock = VirtualClock()
    dispatcher: Dispatcher[int] = Dispatcher(WorkQueue(clock=clock), clock=clock)
    dispatcher.add(1)
    assert await dispatcher.get() is not None
    dispatcher.add(1)
    other = asyncio.ensure_future(dispatcher.get())
    await asyncio.sleep(0)
    assert not other.done(), "never two workers on one key"
    dispatcher.done(1)
    for _ in range(3):
        await asyncio.sleep(0)
    assert other.done()
    taken = other.result()
    assert taken is not None
    assert taken.key == 1


async def test_a_worker_cancelled_just_before_a_key_arrives_is_cancelled() -> None:
    dispatcher: Dispatcher[int] = Dispatcher(WorkQueue(Stepped()), VirtualClock())
    waiting = asyncio.ensure_future(dispatcher.get())
    await asyncio.sleep(0)
    waiting.cancel()
    dispatcher.add(1)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    taken = await dispatcher.get()
    assert taken is not None and taken.key == 1


class Tracked:
    """A key by name that shows whether the queue still holds it."""

    def __init__(self, name: str, made: "list[weakref.ref[Tracked]]") -> None:
        self.name = name
        made.append(weakref.ref(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tracked) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def count_held(made: "list[weakref.ref[Tracked]]") -> int:
    return sum(each() is not None for each in made)


def test_a_key_that_is_requeued_for_long_after_each_event_takes_bounded_memory() -> None:
    queue: WorkQueue[Tracked] = WorkQueue(Stepped())
    made: list[weakref.ref[Tracked]] = []
    for _ in range(2000):
        queue.add(Tracked("a", made), after_s=3600)
        queue.add(Tracked("a", made))  # an event
        item = queue.pop()
        assert item is not None
        queue.done(item.key)
        del item
    assert count_held(made) < 200
    queue.add(Tracked("b", made), after_s=10)
    queue.add(Tracked("c", made), after_s=5)
    assert queue.next_delay_s() == 5


def test_deadlines_survive_the_removal_of_outdated_ones() -> None:
    clock = Stepped()
    queue: WorkQueue[int] = WorkQueue(clock)
    for key in range(300):
        queue.add(key, after_s=1000 - key)
    for _ in range(2000):
        queue.add(-1, after_s=3600)
        queue.add(-1)
        assert queue.pop() is not None
        queue.done(-1)
    clock.elapsed = 2000.0
    found = [item.key for _ in range(300) if (item := queue.pop()) is not None]
    assert found == list(range(299, -1, -1))
    assert queue.pop() is None


@pytest.mark.parametrize("is_fair", [True, False])
def test_a_queue_that_never_empties_takes_bounded_memory(*, is_fair: bool) -> None:
    queue: WorkQueue[Tracked] = WorkQueue(
        Stepped(), tenant=(lambda key: key.name[-1]) if is_fair else None
    )
    made: list[weakref.ref[Tracked]] = []
    for number in range(20):
        queue.add(Tracked(str(number), made))
    queue.add(Tracked("low", made), priority=LOW_PRIORITY)
    for number in range(20, 3000):
        queue.add(Tracked(str(number), made))
        item = queue.pop()
        assert item is not None
        queue.done(item.key)
        del item
    assert len(queue) == 21
    assert count_held(made) < 50
