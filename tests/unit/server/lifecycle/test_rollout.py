"""The arithmetic of rollouts holds its bounds."""

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.server.lifecycle.workloads.rollout import (
    Bounds,
    SetSize,
    compute_bounds,
    compute_new_replicas,
    compute_old_replicas,
    scale_proportionally,
)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(4, "25%", "25%", Bounds(1, 1), id="the defaults"),
        pytest.param(2, "9" * 5000 + "%", 0, Bounds(2 * 10**16, 0), id="endless"),
        pytest.param(3, "25%", "25%", Bounds(1, 0), id="surge up, outage down"),
        pytest.param(10, 2, 3, Bounds(2, 3), id="numbers"),
        pytest.param(1, "0%", "25%", Bounds(0, 1), id="never both zero"),
        pytest.param(2, 1, 5, Bounds(1, 2), id="no more away than there are"),
        pytest.param(0, "25%", "25%", Bounds(0, 0), id="nothing"),
    ],
)
def test_bounds_of_a_rollout_are_those_of_kubernetes(
    replicas: int, surge: int | str, unavailable: int | str, expected: Bounds
) -> None:
    assert compute_bounds(replicas, surge, unavailable) == expected


@given(
    replicas=st.integers(1, 20),
    surge=st.one_of(st.integers(0, 5), st.integers(0, 100).map(lambda each: f"{each}%")),
    unavailable=st.one_of(st.integers(0, 5), st.integers(0, 100).map(lambda each: f"{each}%")),
    old=st.lists(st.integers(0, 10), max_size=3),
    luck=st.randoms(use_true_random=False),
)
@settings(max_examples=count_examples(200), deadline=None)
def test_rolling_update_ends_and_never_leaves_its_bounds(
    replicas: int, surge: int | str, unavailable: int | str, old: list[int], luck: object
) -> None:
    import random

    assert isinstance(luck, random.Random)
    limits = compute_bounds(replicas, surge, unavailable)
    spread = old
    while sum(spread) > replicas:
        spread = [max(0, each - 1) for each in spread]
    others = [SetSize(each, each) for each in spread]
    new = SetSize(0, 0)
    floor = min(sum(spread), replicas - limits.unavailable)
    for _ in range(500):
        if new == (replicas, replicas) and not any(each.wanted for each in others):
            return
        size = compute_new_replicas(replicas, limits, new, others)
        if size != new.wanted:
            new = SetSize(size, new.available)
        else:
            sizes = compute_old_replicas(replicas, limits, new, others)
            others = [
                SetSize(target, each.available) for target, each in zip(sizes, others, strict=True)
            ]
        total = new.wanted + sum(each.wanted for each in others)
        # the numbers a set reports may lag behind what was already taken from it
        serving = new.available + sum(min(each.available, each.wanted) for each in others)
        assert total <= replicas + limits.surge
        assert serving >= floor
        if luck.random() < 0.7:
            others = [SetSize(each.wanted, min(each.available, each.wanted)) for each in others]
        if new.available < new.wanted and luck.random() < 0.7:
            new = SetSize(new.wanted, new.available + 1)
    raise AssertionError(f"never ends: {new} {others}")


@given(
    replicas=st.integers(0, 30),
    surge=st.integers(0, 10),
    sizes=st.lists(st.integers(1, 15), min_size=2, max_size=4),
)
@settings(max_examples=count_examples(200), deadline=None)
def test_proportional_scaling_uses_exactly_what_is_allowed(
    replicas: int, surge: int, sizes: list[int]
) -> None:
    limits = Bounds(surge, 0)
    scaled = scale_proportionally(replicas, limits, sizes, [sum(sizes)] * len(sizes))
    assert all(each >= 0 for each in scaled)
    assert sum(scaled) == (replicas + surge if replicas else 0)


def test_pods_that_do_not_serve_go_first() -> None:
    limits = Bounds(1, 1)
    assert compute_old_replicas(3, limits, SetSize(1, 1), [SetSize(2, 0), SetSize(1, 1)]) == [0, 1]
