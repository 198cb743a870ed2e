"""The rules of collectors: attributes that may be set, and operations on them."""

from typing import Any

import pytest

from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.collectors import Collectors
from quarterdeck.services.fleet.errors import FleetError
from quarterdeck.services.fleet.records import Collector
from quarterdeck.telemetry.fleet.codes import Code

NOW = "2026-01-01T00:00:00Z"


def operation(op: str, path: str, **more: str) -> dict[str, Any]:
    return {"op": op, "path": path, **{name.rstrip("_"): value for name, value in more.items()}}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"id": "a" * 600}, id="id"),
        pytest.param({"id": "a", "name": "b" * 600}, id="name"),
        pytest.param({"id": "a", "localAttributes": {"k" * 600: "v"}}, id="key"),
        pytest.param({"id": "a", "localAttributes": {"k": "v" * 5000}}, id="value"),
        pytest.param(
            {"id": "a", "localAttributes": dict.fromkeys(map(str, range(300)), "v")}, id="many"
        ),
    ],
)
def test_what_agents_say_of_themselves_is_bounded(message: dict[str, Any]) -> None:
    with pytest.raises(FleetError) as caught:
        rules.register_collector(None, message, NOW)
    assert caught.value.code is Code.INVALID_ARGUMENT
    if attributes := message.get("localAttributes"):
        with pytest.raises(FleetError):
            rules.record_poll(Collector(id="a"), {"localAttributes": attributes}, NOW)


def test_one_agent_cannot_register_collectors_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, "MAX_COLLECTORS", 3)
    collectors = Collectors([])
    for number in range(3):
        collectors.put(Collector(id=str(number)))
    with pytest.raises(FleetError) as caught:
        collectors.put(Collector(id="one too many"))
    assert caught.value.code is Code.RESOURCE_EXHAUSTED
    collectors.put(Collector(id="1", name="known ones are still served"))


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param(
            [operation("ADD", "/remote_attributes/b", value="2")], {"a": "1", "b": "2"}, id="add"
        ),
        pytest.param(
            [operation("ADD", "remoteAttributes.b", value="2")], {"a": "1", "b": "2"}, id="dotted"
        ),
        pytest.param(
            [operation("ADD", "/remoteAttributes/x~1y~0z", value="2")],
            {"a": "1", "x/y~z": "2"},
            id="escaped",
        ),
        pytest.param([operation("REMOVE", "/remote_attributes/a")], {}, id="remove"),
        pytest.param([operation("REMOVE", "/remote_attributes/z")], {"a": "1"}, id="remove none"),
        pytest.param(
            [operation("REMOVE", "/remote_attributes/a", value="9")], {"a": "1"}, id="remove other"
        ),
        pytest.param(
            [operation("REPLACE", "/remote_attributes/a", value="2")], {"a": "2"}, id="replace"
        ),
        pytest.param(
            [operation("REPLACE", "/remote_attributes/a", value="2", oldValue="9")],
            {"a": "1"},
            id="replace other",
        ),
        pytest.param(
            [operation("MOVE", "/remote_attributes/b", from_="/remote_attributes/a")],
            {"b": "1"},
            id="move",
        ),
        pytest.param(
            [operation("MOVE", "/remote_attributes/a", from_="/remote_attributes/a")],
            {"a": "1"},
            id="move onto itself",
        ),
        pytest.param(
            [operation("COPY", "/remote_attributes/b", from_="/remote_attributes/a")],
            {"a": "1", "b": "1"},
            id="copy",
        ),
        pytest.param(
            [
                operation("ADD", "/remote_attributes/b", value="2"),
                operation("REMOVE", "/remote_attributes/b"),
            ],
            {"a": "1"},
            id="in order",
        ),
    ],
)
def test_operations_change_remote_attributes(
    operations: list[dict[str, Any]], expected: dict[str, str]
) -> None:
    before = Collector(id="e", remote_attributes={"a": "1"}, updated_at="before")
    after = rules.apply_operations(before, operations, NOW)
    assert after.remote_attributes == expected
    assert (after is before) is (expected == {"a": "1"})
    assert before.remote_attributes == {"a": "1"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (operation("ADD", "/remote_attributes/b"), "ops: value is missing"),
        (operation("COPY", "/remote_attributes/b"), "ops: from is missing"),
        (
            operation("MOVE", "/remote_attributes/b", from_="/remote_attributes/z"),
            "ops: attribute 'z' not found",
        ),
        (operation("ADD", "/name", value="x"), "ops: path '/name' must be /remote_attributes/KEY"),
        (operation("JUMP", "/remote_attributes/a"), "ops: unknown operation 'JUMP'"),
        (
            operation("ADD", "/remote_attributes/collector.os", value="x"),
            "remoteAttributes: 'collector.os' is reserved",
        ),
    ],
)
def test_a_bad_operation_is_named(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(FleetError) as caught:
        rules.apply_operations(Collector(id="e", remote_attributes={"a": "1"}), [bad], NOW)
    assert (caught.value.code, caught.value.message) == (Code.INVALID_ARGUMENT, message)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({str(number): "" for number in range(101)}, "at most 100, not 101"),
        ({"": "x"}, "a key has 1 to 100 characters, not ''"),
        ({"k" * 101: "x"}, "a key has 1 to 100 characters"),
        ({"k": "x" * 1025}, "'k' is longer than 1024 characters"),
    ],
    ids=["too many", "empty key", "long key", "long value"],
)
def test_attributes_have_limits(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(FleetError, match=message):
        rules.check_remote(attributes)


def test_whoever_registers_again_keeps_what_was_set_for_it() -> None:
    first = rules.register_collector(
        None, {"id": "e", "name": "", "localAttributes": {"a": "1"}}, NOW
    )
    marked = rules.update_collector(
        first, {"id": "e", "remoteAttributes": {"b": "2"}, "name": "n"}, NOW
    )
    again = rules.register_collector(marked, {"id": "e", "attributes": {"a": "3"}}, "later")
    assert (again.name, again.local_attributes, again.remote_attributes) == (
        "n",
        {"a": "3"},
        {"b": "2"},
    )
    assert (again.created_at, again.updated_at) == (NOW, "later")


@pytest.mark.parametrize("rule", [rules.register_collector, rules.update_collector])
def test_a_collector_has_an_id(rule: Any) -> None:
    with pytest.raises(FleetError, match="id must not be empty"):
        rule(None, {}, NOW)


def test_collectors_are_found_by_their_effective_attributes() -> None:
    known = Collectors(
        [
            Collector(id="b", local_attributes={"env": "dev"}, remote_attributes={"env": "prod"}),
            Collector(id="a", local_attributes={"env": "prod"}),
            Collector(id="c", local_attributes={"env": "dev"}),
        ]
    )
    assert len(known) == 3
    assert [each.id for each in known.list(["env=prod"])] == ["a", "b"]
    assert [each.id for each in known.list([])] == ["a", "b", "c"]
    assert known.list_attributes("local_attributes") == {
        "env": {"values": [{"value": "dev"}, {"value": "prod"}]}
    }
    with pytest.raises(FleetError, match="matchers: matcher 'env'"):
        known.list(["env"])
    with pytest.raises(FleetError, match="collector 'z' not found"):
        known.remove("z")
