"""Members that may stand only once, wherever in a schema they are declared."""

from typing import Any

import pytest

from quarterdeck.meta.schema import from_openapi
from quarterdeck.meta.structural.duplicates import compile_finder

SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {}}
MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k", "p"],
    "items": {"type": "object"},
}


def found(schema: dict[str, Any], value: Any) -> list[str]:
    finder = compile_finder(from_openapi(schema))
    assert finder is not None
    return [str(error) for error in finder(value, "spec")]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(SET, ["a", "b"], [], id="a set"),
        pytest.param(SET, [{"a": 1}, {"a": 2}], [], id="a set of objects"),
        pytest.param(SET, [{"a": 1}], [], id="one object"),
        pytest.param(SET, "none", [], id="no list"),
        pytest.param(SET, ["a", "a", "a"], ['spec[1]: Duplicate value: "a"'], id="told once"),
        pytest.param(SET, [1, True, 1], ["spec[2]: Duplicate value: 1"], id="true is not one"),
        pytest.param(
            SET,
            [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
            ['spec[1]: Duplicate value: map[string]interface {}{"a":1, "b":2}'],
            id="objects in another order",
        ),
        pytest.param(MAP, [{"k": 1}, {"k": 1, "p": 2}], [], id="a map"),
        pytest.param(MAP, [{"k": 1, "p": 1}, {"k": 1, "p": 2}], [], id="a map, all keys"),
        pytest.param(MAP, [{"v": 1}], [], id="one without keys"),
        pytest.param(
            MAP,
            [{"k": 1, "v": 1}, {"k": 1, "v": 2}],
            ['spec[1]: Duplicate value: map[string]interface {}{"k":1}'],
            id="equal by the keys they have",
        ),
        pytest.param(
            MAP,
            [None, None],
            ["spec[1]: Duplicate value: map[string]interface {}{}"],
            id="nulls",
        ),
        pytest.param(
            MAP,
            ["text"],
            ['spec[0]: Invalid value: "text": must be an object for an array of list-type map'],
            id="not an object",
        ),
        pytest.param(
            {"type": "object", "properties": {"l": SET}},
            {"l": ["a", "a"]},
            ['spec.l[1]: Duplicate value: "a"'],
            id="below a property",
        ),
        pytest.param({"type": "object", "properties": {"l": SET}}, [], [], id="not a mapping"),
        pytest.param(
            {"type": "object", "additionalProperties": SET},
            {"y": ["a", "a"], "x": ["b", "b"]},
            ['spec[x][1]: Duplicate value: "b"', 'spec[y][1]: Duplicate value: "a"'],
            id="below any key",
        ),
        pytest.param(
            {"type": "array", "items": SET},
            [["a"], ["b", "b"]],
            ['spec[1][1]: Duplicate value: "b"'],
            id="lists of sets",
        ),
        pytest.param({"type": "array", "items": SET}, {}, [], id="not a list of sets"),
        pytest.param(
            {**SET, "items": SET},
            [["a", "a"], ["a", "a"]],
            [
                'spec[1]: Duplicate value: []interface {}{"a", "a"}',
                'spec[0][1]: Duplicate value: "a"',
                'spec[1][1]: Duplicate value: "a"',
            ],
            id="sets of sets",
        ),
    ],
)
def test_what_stands_twice_is_named_where_it_stands_again(
    schema: dict[str, Any], value: Any, expected: list[str]
) -> None:
    assert found(schema, value) == expected


def test_a_schema_without_such_lists_compiles_to_nothing() -> None:
    plain = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
    assert compile_finder(from_openapi(plain)) is None
