"""What every state store does alike."""

import asyncio
from collections.abc import Callable

import pytest

from quarterdeck.hubstate.errors import StoreRefused
from quarterdeck.hubstate.ports import Message, StateStore
from quarterdeck.hubstate.writes import (
    AddMembers,
    AddScored,
    DeleteIfEqual,
    DeleteKeys,
    ExtendTtl,
    Publish,
    PushItem,
    RemoveMembers,
    RemoveScored,
    ReplaceMembers,
    SetFields,
    SetValue,
    Write,
)
from quarterdeck.testing.poll import eventually

Open = Callable[[], StateStore]


async def test_absent_keys_read_as_none_or_empty(states: Open) -> None:
    store = states()
    assert await store.get("a") is None
    assert await store.get_many(["a", "b"]) == [None, None]
    assert await store.get_fields("a") == {}
    assert await store.get_members("a") == frozenset()
    assert await store.get_scored_members("a") == []
    assert await store.get_items("a", limit=5) == []
    assert await store.list_keys("a") == []
    await store.ping()
    await store.aclose()


async def test_empty_questions_and_writes_are_answered_without_effect(states: Open) -> None:
    store = states()
    assert await store.get_many([]) == []
    await store.commit([])
    await store.commit([PushItem("l", b"1", 2), SetFields("h", {"a": "1"})])
    assert await store.get_items("l", limit=0) == []
    await store.commit(
        [
            SetFields("h", {}),
            AddMembers("m", ()),
            RemoveMembers("m", ()),
            AddScored("z", {}),
            RemoveScored("z", ()),
            ReplaceMembers("m", ()),
            DeleteKeys(()),
        ]
    )
    assert await store.list_keys("") == ["h", "l"]
    assert await store.get_fields("h") == {"a": "1"}
    await store.aclose()


async def test_values_of_every_type_read_back(states: Open) -> None:
    store = states()
    await store.commit(
        [
            SetValue("s", b'{"a":1}'),
            SetFields("h", {"a": "1", "b": "ü"}),
            SetFields("h", {"b": "2"}),
            AddMembers("m", ("x", "y", "z")),
            RemoveMembers("m", ("y", "absent")),
            AddScored("z", {"one": 1, "two": 2, "half": 0.5}),
            RemoveScored("z", ("two",)),
            PushItem("l", b"1", 2),
            PushItem("l", b"2", 2),
            PushItem("l", b"3", 2),
        ]
    )
    assert await store.get_many(["s", "none"]) == [b'{"a":1}', None]
    assert await store.get_fields("h") == {"a": "1", "b": "2"}
    assert await store.get_members("m") == {"x", "z"}
    assert await store.get_scored_members("z") == [("half", 0.5), ("one", 1.0)]
    assert await store.get_scored_members("z", lowest=0.6, highest=1) == [("one", 1.0)]
    assert await store.get_items("l", limit=5) == [b"3", b"2"]
    await store.aclose()


async def test_sorted_sets_drop_what_is_older_than_asked(states: Open) -> None:
    store = states()
    await store.commit([AddScored("z", {"a": 1, "b": 2})])
    await store.commit([AddScored("z", {"c": 3}, keep_from=2)])
    assert [member for member, _ in await store.get_scored_members("z")] == ["b", "c"]
    await store.aclose()


async def test_a_replaced_set_has_exactly_its_members(states: Open) -> None:
    store = states()
    await store.commit([AddMembers("m", ("a", "b"))])
    await store.commit([ReplaceMembers("m", ("b", "c"), 60)])
    assert await store.get_members("m") == {"b", "c"}
    await store.commit([ReplaceMembers("m", ())])
    assert await store.list_keys("m") == []
    await store.aclose()


async def test_keys_are_found_by_prefix_and_deleted(states: Open) -> None:
    store = states()
    names = ["cluster:a", "cluster:a:spec", "cluster:ab:spec", "cluster:[x]:spec", "other"]
    await store.commit([SetValue(name, b"1") for name in names])
    assert await store.list_keys("cluster:a:") == ["cluster:a:spec"]
    assert await store.list_keys("cluster:[x]") == ["cluster:[x]:spec"]
    assert len(await store.list_keys("cluster:")) == 4
    await store.commit([DeleteKeys(("cluster:a", "cluster:a:spec", "never was"))])
    assert await store.list_keys("cluster:a") == ["cluster:ab:spec"]
    await store.aclose()


async def test_a_value_is_deleted_only_while_it_is_the_one_named(states: Open) -> None:
    store = states()
    await store.commit([SetValue("a", b"1"), SetValue("b", b"1"), AddMembers("set", ("1",))])
    await store.commit([SetValue("b", b"2")])
    await store.commit([DeleteIfEqual(key, b"1") for key in ("a", "b", "set", "never was")])
    assert await store.list_keys("") == ["b", "set"]
    await store.commit([SetValue("b", b"3"), DeleteIfEqual("b", b"2"), DeleteIfEqual("b", b"3")])
    assert await store.list_keys("") == ["set"]
    await store.aclose()


async def test_a_key_with_a_ttl_expires(states: Open) -> None:
    store = states()
    await store.commit([SetValue("short", b"1", 1), SetFields("hash", {"a": "1"}, 1)])
    await store.commit([AddMembers("set", ("a",)), AddMembers("set", ("b",), 1)])
    await store.commit([SetValue("long", b"1", 100), SetValue("ever", b"1")])
    assert await store.get("short") == b"1"

    async def expired() -> bool:
        if await store.get_fields("hash") or await store.get_members("set"):
            return False
        return await store.get("short") is None

    await eventually(expired)
    assert await store.list_keys("") == ["ever", "long"]
    await store.aclose()


async def test_a_value_written_anew_without_ttl_stays(states: Open) -> None:
    store = states()
    await store.commit([SetValue("a", b"1", 1), SetValue("marker", b"1", 1)])
    await store.commit([SetValue("a", b"2")])

    async def expired() -> bool:
        return await store.get("marker") is None

    await eventually(expired)
    assert await store.get("a") == b"2"
    await store.aclose()


async def test_keys_are_prolonged_but_never_shortened(states: Open) -> None:
    store = states()
    await store.commit([SetValue("short", b"1", 1), SetValue("marker", b"1", 1)])
    await store.commit([SetFields("hash", {"a": "1"}, 1), SetValue("ever", b"1")])
    await store.commit([SetValue("long", b"1", 100)])
    await store.commit([ExtendTtl(("short", "hash", "ever", "long", "absent"), 50)])
    await store.commit([ExtendTtl(("short", "ever"), 1)])

    async def expired() -> bool:
        return await store.get("marker") is None

    await eventually(expired)
    assert await store.list_keys("") == ["ever", "hash", "long", "short"]
    await store.aclose()


async def test_a_key_of_another_type_is_refused(states: Open) -> None:
    store = states()
    await store.commit([SetValue("a", b"1")])
    with pytest.raises(StoreRefused):
        await store.commit([AddMembers("a", ("x",))])
    with pytest.raises(StoreRefused):
        await store.get_members("a")
    assert await store.get("a") == b"1"
    await store.aclose()


@pytest.mark.parametrize(
    "write",
    [
        AddMembers("a", ("x",)),
        RemoveMembers("a", ("x",)),
        SetFields("a", {"x": "y"}),
        AddScored("a", {"x": 1.0}),
        PushItem("a", b"x", keep=3),
    ],
    ids=lambda write: type(write).__name__,
)
async def test_one_key_of_another_type_refuses_the_whole_commit(states: Open, write: Write) -> None:
    store = states()
    await store.commit([SetValue("a", b"1"), SetValue("mark", b"1"), AddMembers("set", ("x",))])
    with pytest.raises(StoreRefused):
        await store.commit([SetValue("mark", b"2"), write, AddMembers("set", ("y",))])
    assert await store.get("mark") == b"1"
    assert await store.get_members("set") == {"x"}
    await store.commit([DeleteKeys(("a",)), write])  # what is replaced in the commit is fine
    await store.aclose()


async def test_subscribers_hear_their_channels(states: Open) -> None:
    store = states()
    async with store.subscribe("a", "b") as messages:
        await store.commit([SetValue("k", b"1"), Publish("a", b"1"), Publish("c", b"no")])
        await store.commit([Publish("b", b"2")])
        heard = [await anext(messages), await anext(messages)]
    assert heard == [Message("a", b"1"), Message("b", b"2")]
    await store.aclose()


async def test_many_writers_at_once_lose_nothing(states: Open) -> None:
    store = states()
    writes: list[list[Write]] = [
        [AddMembers("all", (f"{i}",)), SetValue(f"k:{i}", b"x" * 1000)] for i in range(300)
    ]
    await asyncio.gather(*(store.commit(each) for each in writes))
    assert len(await store.get_members("all")) == 300
    assert len(await store.list_keys("k:")) == 300
    await store.aclose()
