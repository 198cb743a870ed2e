"""Expressions tried out by hand."""

from typing import Any

import pytest

from quarterdeck import cel
from quarterdeck.cel.console import explain


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("1 + 1", "int", 2),
        ("self.items.map(i, i.name)", "list(dyn)", ["a", "b"]),
        ("b'AB'", "bytes", "QUI="),
        ("duration('90s')", "duration", "90s"),
        ("timestamp('2020-01-01T00:00:00Z')", "timestamp", "2020-01-01T00:00:00Z"),
        ("self.?none", "optional_type(dyn)", None),
        ("{1: [1u, 1.5, null, true]}[1]", "list(dyn)", None),
        ("type(1)", "type(int)", "int"),
        ("quantity('1500m')", "kubernetes.Quantity", "1500m"),
        ("{true: 1}", "map(bool, int)", {"true": 1}),
    ],
)
def test_explain_gives_value_type_and_cost(text: str, type_: str, value: Any) -> None:
    if "1u" in text:
        with pytest.raises(cel.CompileError, match="expected type 'uint' but found 'double'"):
            explain(text, {})
        return
    answer = explain(text, {"items": [{"name": "a"}, {"name": "b"}]})
    assert (answer["type"], answer["value"]) == (type_, value)
    assert isinstance(answer["cost"], int)


def test_what_cannot_be_computed_is_an_error() -> None:
    with pytest.raises(cel.EvaluationError, match="no such key: x"):
        explain("self.x", {})


def test_what_takes_too_long_is_an_error() -> None:
    rows = "[" + ",".join(["1"] * 200) + "]"
    with pytest.raises(cel.BudgetExceeded):
        explain(f"{rows}.all(a, {rows}.all(b, {rows}.all(c, a == b)))", {})


def test_the_face_is_loaded_by_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cel.nothing  # type: ignore[attr-defined]  # noqa: B018  # the point of the test
    assert cel.compile_rules is not None
