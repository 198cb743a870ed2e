"""Values of named types that expressions construct, where an environment has such types."""

import pytest

from quarterdeck import cel
from quarterdeck.cel.types import Kind, OpenFields, Type
from quarterdeck.cel.values import Message

_PATCH = cel.struct("JSONPatch", {"op": cel.STRING, "path": cel.STRING, "value": cel.DYN})


def _find(name: str) -> cel.Type | None:
    if name == "JSONPatch":
        return _PATCH
    if name == "Object" or name.startswith("Object."):
        return Type(Kind.STRUCT, name, fields=OpenFields())
    return None


def _evaluate(text: str, **variables: object) -> object:
    environment = cel.Environment(dict.fromkeys(variables, cel.DYN), messages=_find)
    return environment.compile(text, result=None).evaluate(variables, budget=cel.Budget())


def _complain(text: str) -> str:
    with pytest.raises(cel.CompileError) as caught:
        cel.Environment({}, messages=_find).compile(text, result=None)
    return str(caught.value)


def test_message_keeps_its_members_and_the_name_of_its_type() -> None:
    found = _evaluate('Object{spec: Object.spec{replicas: n + 1, labels: {"a": "b"}}}', n=2)

    assert found == Message(
        "Object", {"spec": Message("Object.spec", {"replicas": 3, "labels": {"a": "b"}})}
    )


def test_optional_members_that_are_absent_are_left_out() -> None:
    found = _evaluate("Object{?a: o.?there, ?b: o.?missing}", o={"there": 1})

    assert found == Message("Object", {"a": 1})


def test_messages_of_other_names_are_not_equal() -> None:
    assert _evaluate("dyn(Object.a{x: 1}) == dyn(Object.b{x: 1})") is False
    assert _evaluate("Object.a{x: 1} == Object.a{x: 1}") is True


def test_type_of_a_message_is_its_name() -> None:
    environment = cel.Environment({}, messages=_find)

    assert str(environment.compile("[JSONPatch{op: 'add'}]", result=None).type) == "list(JSONPatch)"


def test_members_must_be_declared_and_fit() -> None:
    assert "undefined field 'wrong'" in _complain("JSONPatch{wrong: 1}")
    assert "expected type of field 'op' is 'string' but provided type is 'int'" in _complain(
        "JSONPatch{op: 1}"
    )


def test_member_can_be_selected() -> None:
    assert _evaluate("JSONPatch{op: 'add', path: '/a'}.path") == "/a"


def test_messages_cost_what_they_hold() -> None:
    environment = cel.Environment({}, messages=_find)

    assert environment.compile("Object{a: 1}", result=None).estimated_cost.max == 40


def test_escaping_keys_is_known_where_patches_are() -> None:
    assert _evaluate("jsonpatch.escapeKey('k8s.io/my~label')") == "k8s.io~1my~0label"
    with pytest.raises(cel.CompileError, match="undeclared reference to 'jsonpatch'"):
        cel.Environment({}).compile("jsonpatch.escapeKey('a')", result=None)


def test_no_message_is_known_by_default() -> None:
    with pytest.raises(cel.CompileError, match="undeclared reference to 'Object'"):
        cel.Environment({}).compile("Object{}", result=None)
