"""Rendezvous hashing: everybody answers alike, and few shards move."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.sharding.rendezvous import choose_member, find_shard

MEMBERS = st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=8, unique=True)


@given(members=MEMBERS, shard=st.integers(0, 1000), data=st.data())
def test_the_order_of_members_does_not_matter(
    members: list[str], shard: int, data: st.DataObject
) -> None:
    others = data.draw(st.permutations(members))
    assert choose_member(shard, members) == choose_member(shard, others)


@given(members=MEMBERS, newcomer=st.text(min_size=1), shard=st.integers(0, 1000))
def test_a_newcomer_takes_shards_and_moves_none_between_others(
    members: list[str], newcomer: str, shard: int
) -> None:
    before, after = choose_member(shard, members), choose_member(shard, [*members, newcomer])
    assert after in (before, newcomer)


@given(members=MEMBERS, shard=st.integers(0, 1000))
def test_only_the_shards_of_a_lost_member_move(members: list[str], shard: int) -> None:
    before = choose_member(shard, members)
    for lost in members:
        left = [each for each in members if each != lost]
        if lost != before:
            assert choose_member(shard, left) == before


def test_nobody_gets_a_shard_without_members() -> None:
    assert choose_member(3, []) is None


@given(name=st.text(), count=st.integers(1, 200))
def test_every_name_has_one_of_the_shards(name: str, count: int) -> None:
    assert 0 <= find_shard(name, count) < count


def test_names_and_shards_are_spread_evenly() -> None:
    names = Counter(find_shard(f"cluster-{number}", 64) for number in range(6400))
    assert len(names) == 64
    assert max(names.values()) < 160
    shards = Counter(choose_member(shard, ["a", "b", "c"]) for shard in range(600))
    assert min(shards.values()) > 150


def test_the_shard_of_a_name_is_the_same_in_every_release() -> None:
    assert [find_shard(name, 64) for name in ("east", "west", "prod-1")] == [41, 58, 4]
