"""Requests of users that run, wait and are refused."""

import asyncio

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.server.filters.fairness import Fairness, FairnessLimits
from quarterdeck.wire.status import TooManyRequests

LIMITS = FairnessLimits(total=8, per_user=5, running_per_user=2)


class Requests:
    """Requests that run until the test ends them."""

    def __init__(self, fairness: Fairness) -> None:
        self.fairness = fairness
        self.running: list[str] = []
        self.refused = 0
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, name: str, user: User) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, user))
        await settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settle()

    async def close(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _run(self, name: str, user: User) -> None:
        try:
            async with self.fairness.admit(user):
                self.running.append(name)
                try:
                    await self._ends[name].wait()
                finally:
                    self.running.remove(name)
        except TooManyRequests:
            self.refused += 1


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_user_waits_for_itself_and_nobody_else_does() -> None:
    requests = Requests(Fairness(LIMITS))
    for number in range(7):
        await requests.begin(f"g{number}", User(name="greedy"))
    assert requests.running == ["g0", "g1"]
    assert requests.refused == 2
    await requests.begin("m", User(name="modest"))
    assert requests.running == ["g0", "g1", "m"]
    await requests.end("g0")
    assert requests.running == ["g1", "m", "g2"]
    await requests.close()


async def test_turn_of_a_request_that_is_given_up_is_not_lost() -> None:
    requests = Requests(Fairness(LIMITS))
    user = User(name="u")
    for name in "abcd":
        await requests.begin(name, user)
    await requests.cancel("c")
    await requests.end("a")
    assert requests.running == ["b", "d"]
    await requests.cancel("b")
    await requests.cancel("d")
    assert requests.fairness.statistics()[:3] == (0, 0, 0)


async def test_turn_that_comes_together_with_the_end_is_passed_on() -> None:
    requests = Requests(Fairness(FairnessLimits(total=8, per_user=5, running_per_user=1)))
    user = User(name="u")
    for name in "abc":
        await requests.begin(name, user)
    requests._ends["a"].set()
    await asyncio.sleep(0)  # a ends and gives its turn to b, which has not run yet
    requests.tasks["b"].cancel()
    await settle()
    assert requests.running == ["c"]
    await requests.close()


async def test_masters_are_never_bounded() -> None:
    requests = Requests(Fairness(LIMITS))
    for number in range(20):
        await requests.begin(str(number), User(name="root", groups=(MASTERS_GROUP,)))
    assert len(requests.running) == 20
    await requests.close()


@settings(deadline=None, max_examples=count_examples(60))
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 2)), max_size=60))
def test_limits_hold_and_nothing_is_forgotten(steps: list[tuple[str, int]]) -> None:
    async def run() -> None:
        requests = Requests(Fairness(LIMITS))
        alive: list[str] = []
        for number, (user, action) in enumerate(steps):
            if action == 0 or not alive:
                name = f"{user}{number}"
                before = requests.refused
                await requests.begin(name, User(name=user))
                if requests.refused == before:
                    alive.append(name)
            else:
                name = alive.pop(number % len(alive))
                if action == 1 and name in requests.running:
                    await requests.end(name)
                else:
                    await requests.cancel(name)
            counts = {each: sum(r[0] == each for r in requests.running) for each in "xyz"}
            owned = {each: sum(r[0] == each for r in alive) for each in "xyz"}
            assert all(counts[each] == min(owned[each], 2) for each in "xyz")
            statistics = requests.fairness.statistics()
            assert statistics.running == len(requests.running)
            assert statistics.running + statistics.waiting == len(alive) <= LIMITS.total
        await requests.close()
        assert requests.fairness.statistics()[:3] == (0, 0, 0)

    asyncio.run(run())


async def test_refusal_says_when_to_try_again() -> None:
    fairness = Fairness(FairnessLimits(total=0, per_user=5, running_per_user=2))
    with pytest.raises(TooManyRequests) as caught:
        async with fairness.admit(User(name="u")):
            pytest.fail("admitted")
    assert caught.value.details is not None
    assert caught.value.details.retry_after_seconds == 1
