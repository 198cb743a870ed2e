"""Data whose type nobody declared: what members, indexes and optionals of it are.

The answers are those of kube-apiserver's own CEL, release 1.32, for the same expressions.
"""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.interpreter.interpret import interpret
from quarterdeck.cel.values import NONE, Optional, make_optional

_DATA: dict[str, Any] = {
    "any": {"n": 1, "s": "x", "deep": {"k": [True, None]}},
    "nums": [1, 2, 3],
    "pairs": {"a": 1},
}
_ENVIRONMENT = cel.Environment(
    {"any": cel.DYN, "nums": cel.list_of(cel.INT), "pairs": cel.map_of(cel.STRING, cel.INT)}
)
_OPTIONAL_ONE, _OPTIONAL_TWO = make_optional(1), make_optional(2)


def _run(text: str) -> Any:
    program = _ENVIRONMENT.compile(text, result=None)
    value, again = program.evaluate(_DATA), interpret(program._tree, _DATA)
    assert _describe(value) == _describe(again)
    return value


def _describe(value: Any) -> tuple[object, ...]:
    if isinstance(value, Optional):
        return "optional", value.present, value.value
    return type(value), value


def _fail(text: str) -> str:
    program = _ENVIRONMENT.compile(text, result=None)
    with pytest.raises(cel.EvaluationError) as caught:
        program.evaluate(_DATA)
    with pytest.raises(cel.EvaluationError) as again:
        interpret(program._tree, _DATA)
    assert str(caught.value) == str(again.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("any.n.x", "no such key: x"),
        ("any.s.x", "no such key: x"),
        ("any.deep.k[1].x", "no such key: x"),
        ("any.s[0]", "no such key: 0"),
        ("dyn(1)[0]", "no such key: 0"),
        ("any[true]", "no such key: true"),
        ("any[1.5]", "no such key: 1.5"),
        ("{true: 'x'}[dyn(1)]", "no such key: 1"),
        ("any.deep.k.x", "unsupported index type 'string' in list"),
        ("any.deep.k['x']", "unsupported index type 'string' in list"),
        ("any.deep.k.?x", "unsupported index type 'string' in list"),
        ("any.deep.k[?'x']", "unsupported index type 'string' in list"),
        ("has(any.deep.k.x)", "unsupported index type 'string' in list"),
        ("nums[dyn(true)]", "unsupported index type 'bool' in list"),
        ("nums[dyn(1.5)]", "unsupported index value 1.5 in list"),
        ("any.deep.k[?1.5]", "unsupported index value 1.5 in list"),
        ("nums[dyn(-1.0)]", "index out of bounds: -1"),
        ("any.deep.k[5].x", "index out of bounds: 5"),
        ("1 in any.n", "no such overload"),
        ("'a' in dyn('abc')", "no such overload"),
        ("any.n.optMap(x, x)", "no such overload"),
        ("any.n.value()", "no such overload: value(int)"),
        ("dyn(optional.none()).value()", "optional.none() dereference"),
    ],
)
def test_what_is_not_there_is_an_error(text: str, message: str) -> None:
    assert _fail(text) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("has(any.n.x)", False),
        ("has(any.s.x)", False),
        ("has(any.deep.k)", True),
        ("has(any.?deep.k)", True),
        ("has(any.?zip.k)", False),
        ("has(optional.of(any).n)", True),
        ("1 in any", False),
        ("null in any", False),
        ("[1] in any", False),
        ("1.5 in any", False),
        ("dyn(1.0) in {1: 'x'}", True),
        ("dyn(true) in {1: 'x'}", False),
        ("nums[dyn(1.0)]", 2),
        ("nums[dyn(1u)]", 2),
        ("{1: 'a'}[dyn(1u)]", "a"),
    ],
)
def test_membership_and_indexes_of_other_types(text: str, value: object) -> None:
    assert _run(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("any.?n.?x", NONE),
        ("any.?n.x", NONE),
        ("dyn(1).?x", NONE),
        ("dyn(1)[?0]", NONE),
        ("any.s[?0]", NONE),
        ("nums[?-1]", NONE),
        ("dyn(nums)[?1.0]", _OPTIONAL_TWO),
        ("dyn(nums)[?1u]", _OPTIONAL_TWO),
        ("optional.of(nums)[1]", _OPTIONAL_TWO),
        ("optional.of(nums)[7]", NONE),
        ("optional.of(pairs)['a']", _OPTIONAL_ONE),
        ("optional.of(pairs).z", NONE),
        ("optional.none()[1]", NONE),
        ("optional.of(any).n.x", NONE),
        ("optional.of(any).?zip.k", NONE),
        ("dyn(optional.of(1)).optMap(x, x)", _OPTIONAL_ONE),
        ("dyn(optional.none()).or(dyn(optional.of(2)))", _OPTIONAL_TWO),
    ],
)
def test_a_look_that_may_fail_gives_an_optional(text: str, value: Optional) -> None:
    assert _describe(_run(text)) == _describe(value)


@pytest.mark.parametrize(
    "text",
    [
        "any.n.orValue(2)",
        "any.n.or(optional.of(2))",
        "dyn(optional.none()).or(dyn(1))",
        "dyn(optional.of(1)).orValue(2)",
        "optional.none().orValue(any.n)",
        "optional.of(2).optFlatMap(x, dyn(1))",
        "dyn(optional.of(2)).optFlatMap(x, any.n)",
    ],
)
def test_a_value_in_place_of_an_optional_stands_for_itself(text: str) -> None:
    assert _run(text) == 1


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("['a', any.n]", [(10, "string", "dyn")]),
        ("[any, 1, 'a']", [(7, "dyn", "int")]),
        ("[1, 'a', 2u]", [(5, "int", "string")]),
        ("[[1], ['a']]", [(7, "list(int)", "list(string)")]),
        ("[duration('1s'), null]", [(18, "duration", "null")]),
        ("[type(1), type('a')]", [(15, "type(int)", "type(string)")]),
        ("[?optional.of(1), 'a']", [(19, "int", "string")]),
        ("{'a': any, 'b': 1}", [(17, "dyn", "int")]),
        ("{?'a': any.?n, 'b': 2}", [(21, "dyn", "int")]),
        ("{'a': 1, 'b': 'x', 3: 2}", [(15, "int", "string"), (20, "string", "int")]),
        ("nums.map(x, [x, 'a']).size()", [(17, "int", "string")]),
        ("optional.of(1).optMap(x, [x, 'a'])", [(30, "int", "string")]),
        ("{'a': [1, 'b']}.a", [(11, "int", "string")]),
    ],
)
def test_lists_and_maps_hold_one_type(text: str, issues: list[tuple[int, str, str]]) -> None:
    with pytest.raises(cel.CompileError) as caught:
        _ENVIRONMENT.compile(text, result=None)
    found = sorted((issue.column, issue.message) for issue in caught.value.issues)
    assert found == [
        (column, f"expected type '{wanted}' but found '{given}'")
        for column, wanted, given in issues
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[[1], []]", [[1], []]),
        ("[?optional.of(1), 2]", [1, 2]),
        ("'%s'.format([['a', any.n]])", '["a", 1]'),
        ("'%s'.format([{'a': [1, 'b']}])", '{"a":[1, "b"]}'),
    ],
)
def test_empty_lists_and_arguments_of_format_may_differ(text: str, value: object) -> None:
    assert _run(text) == value
