"""Rules see stored JSON with the types its schema gives it."""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret
from quarterdeck.cel.schema.identifier import escape
from quarterdeck.meta.schema import from_openapi


def _holds(schema: dict[str, Any], value: Any, rule: str, *, root: bool = False) -> bool:
    environment = cel.Environment.for_schema(from_openapi(schema), old_self=True, root=root)
    program = environment.compile(rule)
    data = {"self": value, "oldSelf": value}
    result = program.evaluate(data)
    assert result == interpret(program._tree, data)
    return bool(result)


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("plain", "plain"),
        ("a.b", "a__dot__b"),
        ("a-b", "a__dash__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("_x", "_x"),
        ("x-y.z/w", "x__dash__y__dot__z__slash__w"),
        ("1a", None),
        ("", None),
        ("a b", None),
        ("é", None),
    ],
)
def test_names_are_escaped(name: str, escaped: str | None) -> None:
    assert escape(name) == escaped


@pytest.mark.parametrize(
    "rule",
    [
        "self.a__dot__b == 1",
        "has(self.a__dash__c)",
        "self.__in__ == 2",
        "self.__namespace__ == 'n'",
        "self.namespace == 'n'",
        "!has(self.absent__dot__x)",
    ],
)
def test_escaped_names_reach_their_properties(rule: str) -> None:
    schema = _object(
        **{
            "a.b": _INTEGER,
            "a-c": _STRING,
            "in": _INTEGER,
            "namespace": _STRING,
            "absent.x": _STRING,
        }
    )
    assert _holds(schema, {"a.b": 1, "a-c": "", "in": 2, "namespace": "n"}, rule)


@pytest.mark.parametrize(
    ("format_", "value", "rule"),
    [
        ("date-time", "2020-01-02T03:04:05Z", "self.v == timestamp('2020-01-02T03:04:05Z')"),
        ("date-time", "2020-01-02T03:04:05Z", "self.v.getFullYear() == 2020"),
        ("date", "2020-01-02", "self.v < timestamp('2020-01-03T00:00:00Z')"),
        ("duration", "1h", "self.v == duration('60m') && self.v.getMinutes() == 60"),
        ("byte", "QUI=", "self.v == b'AB' && size(self.v) == 2"),
        ("uuid", "x", "self.v == 'x' && type(self.v) == string"),
        ("date-time", "2020-01-02T03:04:05Z", "[self.v, self.v].all(t, t.getMonth() == 0)"),
        ("date-time", "2020-01-02T03:04:05Z", "self.?v.orValue(timestamp(0)).getDate() == 2"),
    ],
)
def test_formats_become_types(format_: str, value: str, rule: str) -> None:
    assert _holds(_object(v={"type": "string", "format": format_}), {"v": value}, rule)


@pytest.mark.parametrize(
    "rule",
    [
        "self.times.all(t, t > timestamp('2000-01-01T00:00:00Z'))",
        "self.times[0] < self.times[1]",
        "timestamp('2020-01-01T00:00:00Z') in self.times",
        "self.times == [timestamp('2020-01-01T00:00:00Z'), timestamp('2021-01-01T00:00:00Z')]",
        "self.times.max() == self.times[1]",
        "self.times.map(t, t.getFullYear()) == [2020, 2021]",
        "self.times.filter(t, t.getFullYear() > 2020)[0].getFullYear() == 2021",
        "self.byName['x'].getFullYear() == 2020 && self.byName.x == self.times[0]",
        "self.byName.all(k, v, v in self.times)",
        "self.items.exists(i, i.at == self.times[0])",
        "self.items.filter(i, has(i.at))[0].at.getFullYear() == 2020",
        "self.items == oldSelf.items && self.times == oldSelf.times",
        "self.items[0] == self.items[0]",
        "dyn(self.items)[0].at == self.times[0]",
    ],
)
def test_times_inside_lists_and_maps_are_converted(rule: str) -> None:
    moment = {"type": "string", "format": "date-time"}
    schema = _object(
        times={"type": "array", "items": moment},
        byName={"type": "object", "additionalProperties": moment},
        items={"type": "array", "items": _object(at=moment)},
    )
    times = ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]
    value = {"times": times, "byName": {"x": times[0]}, "items": [{"at": times[0]}]}
    assert _holds(schema, value, rule)


@pytest.mark.parametrize(
    "rule",
    [
        "type(self.n) == double",
        "self.n == 1.0 && self.n < 2 && self.n / 2.0 == 0.5",
        "string(self.n) == '1' && [self.n] == [1.0]",
        "self.ns.sum() == 6.0 && self.ns == [1.0, 2.0, 3.0]",
        "self.ns.all(x, type(x) == double)",
        "-self.n == -1.0 && self.n * self.n == 1.0",
    ],
)
def test_numbers_are_doubles_even_when_stored_as_integers(rule: str) -> None:
    schema = _object(n={"type": "number"}, ns={"type": "array", "items": {"type": "number"}})
    assert _holds(schema, {"n": 1, "ns": [1, 2, 3]}, rule)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (5, "type(self.v) == int ? self.v < 10 : self.v == '50%'"),
        ("50%", "type(self.v) == int ? self.v < 10 : self.v == '50%'"),
        ("50%", "type(self.v) == string && self.v.matches('^[0-9]+%$')"),
        (5, "self.v == 5 && self.v != '5'"),
    ],
)
def test_int_or_string_is_decided_at_run_time(value: Any, rule: str) -> None:
    assert _holds(_object(v={"x-kubernetes-int-or-string": True}), {"v": value}, rule)


@pytest.mark.parametrize(
    "rule",
    [
        "!has(self.v)",
        "!self.?v.hasValue()",
        "has(self.l)",
        "self.l[0] == null",
        "self.l.exists(x, x == null)",
        "type(self.m['k']) == null_type",
    ],
)
def test_null_members_count_as_absent_but_null_elements_are_null(rule: str) -> None:
    schema = _object(
        v={"type": "integer", "nullable": True},
        l={"type": "array", "items": {"type": "object", "nullable": True}},
        m={
            "type": "object",
            "additionalProperties": {"type": "string", "nullable": True},
        },
    )
    assert _holds(schema, {"v": None, "l": [None], "m": {"k": None}}, rule)


def test_a_null_member_cannot_be_read() -> None:
    node = from_openapi(_object(v={"type": "boolean", "nullable": True}))
    program = cel.Environment.for_schema(node, old_self=False).compile("self.v")
    with pytest.raises(cel.EvaluationError, match="no such key: v"):
        program.evaluate({"self": {"v": None}})


@pytest.mark.parametrize(
    "rule",
    [
        "self.set == ['b', 'a']",
        "self.set + ['b', 'c'] == ['c', 'b', 'a']",
        "size(self.set + self.set) == 2",
        "'a' in self.set && self.set.exists(x, x == 'b')",
        "(true ? self.set : ['c']) == ['b', 'a']",
        "self.maps[0] == [self.maps[0][1], self.maps[0][0]]",
        "self.maps[0] != self.maps[1]",
        "(self.maps[0] + self.maps[1]).exists(e, e.k == 'x' && e.v == 9)",
        "size(self.maps[0] + self.maps[1]) == 2",
        "self.atomic != ['b', 'a']",
    ],
)
def test_list_types_decide_equality_and_sum(rule: str) -> None:
    keyed = {
        "type": "array",
        "items": _object(k=_STRING, v=_INTEGER),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    schema = _object(
        set={"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        maps={"type": "array", "items": keyed},
        atomic={"type": "array", "items": _STRING},
    )
    value = {
        "set": ["a", "b"],
        "maps": [[{"k": "x", "v": 1}, {"k": "y", "v": 2}], [{"k": "x", "v": 9}]],
        "atomic": ["a", "b"],
    }
    assert _holds(schema, value, rule)


@pytest.mark.parametrize(
    "rule",
    ["self.kind == 'Pod'", "self.apiVersion == 'v1'", "self.metadata.name == 'n'",
     "!has(self.metadata.generateName)"],
)  # fmt: skip
@pytest.mark.parametrize("embedded", [False, True], ids=["root", "embedded"])
def test_resources_show_their_names(rule: str, *, embedded: bool) -> None:
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "labels": {}}}
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if not embedded:
        assert _holds(schema, value, rule, root=True)
        return
    schema["x-kubernetes-embedded-resource"] = True
    assert _holds(_object(pod=schema), {"pod": value}, rule.replace("self", "self.pod", 1))


def test_labels_are_not_shown() -> None:
    node = from_openapi({"type": "object"})
    with pytest.raises(cel.CompileError, match="undefined field 'labels'"):
        cel.Environment.for_schema(node, old_self=False, root=True).compile(
            "has(self.metadata.labels)"
        )


def test_a_node_without_type_cannot_carry_rules() -> None:
    node = from_openapi({"x-kubernetes-preserve-unknown-fields": True})
    with pytest.raises(cel.CelError, match="unable to convert structural schema"):
        cel.Environment.for_schema(node, old_self=False)
