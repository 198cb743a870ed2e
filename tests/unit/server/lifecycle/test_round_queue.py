"""The queue of the engine: what is planned at once, and what waits for writes that follow."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.lifecycle.engine.round_queue import WAIT_ROUNDS, Item, RoundQueue
from quarterdeck.storage import StoreKey


def item(number: int) -> Item:
    return (number, StoreKey("pods", "default", "a"))


def test_an_entry_that_may_wait_is_planned_at_once_if_there_is_nothing_else() -> None:
    queue = RoundQueue()
    queue.add_later(item(1))
    assert queue.take() == [item(1)]
    assert len(queue) == 0


def test_an_entry_waits_for_the_rounds_of_others() -> None:
    queue, taken = RoundQueue(), []
    queue.add_later(item(0))
    for number in range(1, WAIT_ROUNDS + 2):
        queue.add(item(number))
        taken.append(queue.take())
    assert taken == [*([item(number)] for number in range(1, WAIT_ROUNDS + 1)), [item(3), item(0)]]


def test_an_entry_that_waits_is_brought_forward_when_it_is_asked_for_at_once() -> None:
    queue = RoundQueue()
    queue.add(item(1))
    queue.add_later(item(0))
    queue.add(item(0))
    assert queue.take() == [item(1), item(0)]
    assert len(queue) == 0


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6), max_size=12))
def test_every_entry_is_taken_once_and_in_time(rounds: list[list[tuple[int, bool]]]) -> None:
    queue = RoundQueue()
    due: dict[Item, int] = {}
    for number, additions in enumerate(rounds, start=1):
        for which, may_wait in additions:
            one = item(which)
            if may_wait:
                queue.add_later(one)
                due.setdefault(one, number + WAIT_ROUNDS)
            else:
                queue.add(one)
                due[one] = number
        taken = queue.take()
        assert len(taken) == len(set(taken))
        assert set(taken) <= due.keys()
        assert {one for one, last in due.items() if last <= number} <= set(taken)
        assert bool(taken) == bool(due)
        for one in taken:
            del due[one]
        assert len(queue) == len(due)
