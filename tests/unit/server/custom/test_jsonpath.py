"""Paths of printer columns."""

from typing import Any

import pytest

from quarterdeck.server.custom.jsonpath import JsonPathError, compile_path, format_value

OBJECT: dict[str, Any] = {
    "spec": {"size": 3, "a.b": "dotted", "list": [1, 2, 3], "on": True},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "weight": 5},
            {"type": "Synced", "status": "False", "weight": 1},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        ("spec.size", [3]),
        (".spec['a.b']", ["dotted"]),
        (r".spec.a\.b", ["dotted"]),
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [3]),
        (".spec.list[1:]", [2, 3]),
        (".spec.list[*]", [1, 2, 3]),
        (".status.conditions[*].type", ["Ready", "Synced"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Synced')].status", ["False"]),
        (".status.conditions[?(@.weight>2)].type", ["Ready"]),
        ('.status.conditions[?(@.weight>"x")].type', []),
        (".nope.deeper", []),
        (".spec.size.deeper", []),
        (".spec.list[9]", []),
    ],
)
def test_a_path_leads_to_values(path: str, found: list[Any]) -> None:
    assert compile_path(path)(OBJECT) == found


@pytest.mark.parametrize(
    "path", [".a[", ".a[?(@.b)]", ".a..b", ".a[?(@.b==c)]", ".a[" + "9" * 5000 + "]"]
)
def test_a_path_of_another_form_is_refused(path: str) -> None:
    with pytest.raises(JsonPathError, match="unrecognized"):
        compile_path(path)


SPACES = " " * 5000


@pytest.mark.parametrize(
    "path", [f"[?(@{SPACES}=={SPACES}", f"[?(@.b{SPACES}", f"[{SPACES}?({SPACES}@.b==1{SPACES}"]
)
def test_a_path_with_many_spaces_is_refused_in_linear_time(path: str) -> None:
    with pytest.raises(JsonPathError, match="unrecognized"):
        compile_path(path)


def test_spaces_in_a_filter_have_no_meaning() -> None:
    path = f".status.conditions[{SPACES}?({SPACES}@.type{SPACES}=={SPACES}'Ready'{SPACES}){SPACES}]"
    assert [each["weight"] for each in compile_path(path)(OBJECT)] == [5]


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (True, "true"), (3, "3"), (None, "<nil>"), ({"a": [1]}, '{"a":[1]}')],
)
def test_values_are_printed_as_text(value: Any, text: str) -> None:
    assert format_value(value) == text
