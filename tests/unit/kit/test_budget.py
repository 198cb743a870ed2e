"""Bytes that many keep together, and who lets go when they are too many."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.budget import Budget


def test_largest_holder_lets_go_and_not_the_last() -> None:
    budget, gone = Budget(100), list[str]()
    large = budget.open(lambda: gone.append("large"))
    small = budget.open(lambda: gone.append("small"))
    large.resize(80)
    small.resize(20)
    assert gone == []
    small.resize(21)
    assert gone == ["large"]
    assert (large.size, small.size, budget.held) == (0, 21, 21)
    small.close()
    assert budget.held == 0


def test_holder_that_exceeds_the_limit_alone_lets_go() -> None:
    budget, gone = Budget(100), list[str]()
    budget.open(lambda: gone.append("it")).resize(101)
    assert gone == ["it"]
    assert budget.held == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60)), max_size=50))
def test_limit_holds_and_the_sum_is_right(steps: list[tuple[int, int]]) -> None:
    budget = Budget(100)
    shares = [budget.open(lambda: None) for _ in range(5)]
    for at, size in steps:
        shares[at].resize(size)
        assert budget.held == sum(each.size for each in shares) <= 100
