"""Who receives a candidate: the same collectors after every restart, and only more of them."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.telemetry.candidates import Choice, choose, compute_bucket

ids = st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=50)


@given(ids, st.text(max_size=10), st.integers(1, 100), st.integers(1, 100))
def test_a_larger_weight_only_adds(fleet: list[str], salt: str, one: int, two: int) -> None:
    small, large = sorted((one, two))
    chosen = set(choose(fleet, Choice(salt=salt, weight=small)))
    assert chosen <= set(choose(fleet, Choice(salt=salt, weight=large)))
    assert set(choose(fleet, Choice(salt=salt, weight=100))) == set(fleet)


def test_the_bucket_of_a_collector_never_changes() -> None:
    # other numbers would move running canaries to other collectors on an upgrade
    assert [compute_bucket(f"edge-{n}", "web") for n in range(3)] == [8790, 110, 2436]


def test_ten_per_cent_are_about_ten_per_cent_and_differ_by_pipeline() -> None:
    fleet = [f"edge-{number}" for number in range(10_000)]
    web = set(choose(fleet, Choice(salt="web", weight=10)))
    api = set(choose(fleet, Choice(salt="api", weight=10)))
    assert 900 < len(web) < 1100
    assert len(web & api) < 200


def test_matchers_choose_instead() -> None:
    choice = Choice(salt="x", matchers=("env=test", 'team=~"a|b"'))
    assert choice.is_chosen("e", {"env": "test", "team": "a"})
    assert not choice.is_chosen("e", {"env": "test", "team": "c"})
