"""The expressions that the original's users rely on: what they give, and what they gave."""

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.engine.sources import NOW, collect, computed, evaluate, field, source

from quarterdeck.engine import SourceError, compile_source
from quarterdeck.kit import rfc3339

ERROR = "compile error"
STATUS = {"used": 300, "capacity": 1000}

# number, expression, values, type, what it gives, what compat gives
VECTORS: list[tuple[str, str, dict[str, Any], Any, Any, Any]] = [
    ("1", "2 + 3 * 4", {}, "float", 14, 14),
    ("2", "(2 + 3) * 4", {}, "float", 20, 20),
    ("3", "10 - 4 - 3", {}, "float", 3, 3),
    ("4", "100 / 10 / 2", {}, "float", 5, 5),
    ("5", "2 - -3", {}, "float", 5, 5),
    ("6", "capacity * 0.8 - used", STATUS, "float", 500.0, 500.0),
    ("7", "round((used / capacity) * 100, 2)", {"used": 1, "capacity": 3}, "float", 33.33, 33.33),
    ("8", "used / capacity", {"used": 5, "capacity": 0}, "float", None, None),
    ("9", "used / capacity", {"used": 5, "capacity": None}, "float", ERROR, None),
    ("10", "null + 1", {}, "float", None, 1),
    ("11", "null + null", {}, "float", None, 0),
    ("12", "'a' + null", {}, "string", "a", "a"),
    ("13", "5 + 'a'", {}, "string", "5a", "5a"),
    ("14", "'a' + 1.5", {}, "string", "a1.5", "a1.5"),
    ("15", "true + 'x'", {}, "string", "truex", "truex"),
    ("16a", "10 % 3", {}, "float", 1, 1),
    ("16b", "-7 % 3", {}, "float", -1, -1),
    ("16c", "5.5 % 2", {}, "float", 1.5, 1.5),
    ("17", "7 % 0", {}, "float", None, None),
    ("18", "used ?? 0", {"used": None}, "float", 0, 0),
    ("19a", "used ?? 0 + 1", {"used": None}, "float", 1, 1),
    ("19b", "used ?? 0 + 1", {"used": 7.0}, "float", 7, 7),
    ("20a", "0 ?? 5", {}, "float", 0, 0),
    ("20b", "'' ?? 'x'", {}, "string", "", ""),
    ("21", "a == 3", {"a": 3}, "boolean", True, False),
    ("22", "3 == a", {"a": 3}, "boolean", True, True),
    ("23", "a == b", {"a": 3, "b": 3}, "boolean", True, False),
    ("24a", "'1' == 1", {}, "boolean", False, True),
    ("24b", "1 == '1'", {}, "boolean", False, False),
    ("25", "true == 1", {}, "boolean", True, True),
    ("26a", "'' == null", {}, "boolean", False, False),
    ("26b", "null == null", {}, "boolean", True, True),
    ("27", "'b' > 'a'", {}, "boolean", True, False),
    ("28", "phase == 'Bound'", {"phase": "Bound"}, "boolean", True, True),
    ("29", "false || true && false", {}, "boolean", False, False),
    ("30", "!true || true", {}, "boolean", True, True),
    ("31", "!'false'", {}, "boolean", False, False),
    ("32", "1 < 2 == true", {}, "boolean", True, True),
    ("33", "3 > 2 > 1", {}, "boolean", ERROR, False),
    ("34", "concat('ns','/','name',null,3,true)", {}, "string", "ns/name3true", "ns/name3true"),
    ("35", "len('héllo')", {}, "float", 5, 6),
    ("36a", "substr('hello',1,3)", {}, "string", "ell", "ell"),
    ("36b", "substr('hello',3,100)", {}, "string", "lo", "lo"),
    ("36c", "substr('hello',-1)", {}, "string", "", ""),
    ("36d", "substr('hello',9)", {}, "string", "", ""),
    ("37", "substr('hello',2,-1)", {}, "string", "", None),
    ("38a", "round(2.5)", {}, "float", 3, 3),
    ("38b", "round(-2.5)", {}, "float", -3, -3),
    ("38c", "round(1.005,2)", {}, "float", 1.0, 1.0),
    ("38d", "round(1234,-2)", {}, "float", 1200, 1200),
    ("39a", "floor(-1.5)", {}, "float", -2, -2),
    ("39b", "ceil(-1.5)", {}, "float", -1, -1),
    ("39c", "abs(-5)", {}, "float", 5, 5),
    ("40a", "min('3',2)", {}, "float", ERROR, 0),
    ("40b", "max(null,-1)", {}, "float", None, 0),
    ("41", "coalesce(null, 0, 5)", {}, "float", 0, 0),
    ("42a", "formatBytes(0)", {}, "string", "0.00B", "0.00B"),
    ("42b", "formatBytes(1536)", {}, "string", "1.50Ki", "1.50Ki"),
    ("42c", "formatBytes(5368709120)", {}, "string", "5.00Gi", "5.00Gi"),
    ("42d", "formatBytes(-2048)", {}, "string", "-2.00Ki", "-2048.00B"),
    ("43a", "contains('abc','')", {}, "boolean", True, True),
    ("43b", "startsWith(null,'')", {}, "boolean", True, True),
    ("44a", "toNumber('42')", {}, "float", 42, 0),
    ("44b", "toNumber(true)", {}, "float", 1, 1),
    ("44c", "toNumber('many')", {}, "float", None, 0),
    ("45a", "toString(3.0)", {}, "string", "3", "3"),
    ("45b", "toString(0.1+0.2)", {}, "string", "0.30000000000000004", "0.30000000000000004"),
    ("45c", "toString(1234567.5)", {}, "string", "1234567.5", "1.2345675e+06"),
    ("46a", "3.7", {}, "integer", 3, 3),
    ("46b", "-3.7", {}, "integer", -3, -3),
    ("46c", "3.7", {}, "string", "3.7", "3.7"),
    ("47a", "'x'", {}, "float", None, 0),
    ("47b", "'x'", {}, "boolean", True, True),
    ("47c", "null", {}, "boolean", None, None),
    ("47d", "5 > 3", {}, "float", 1.0, 1.0),
    ("48a", "TRUE", {}, "boolean", True, True),
    ("48b", "Nil", {}, "string", None, None),
    ("49a", "1e3", {}, "float", 1000, 1),
    ("49b", ".5", {}, "float", 0.5, ERROR),
    ("49c", "5.", {}, "float", 5, 5),
    ("49d", "1.2.3", {}, "float", ERROR, ERROR),
    ("50a", "a = b", {"a": 1, "b": 2}, "float", ERROR, 1),
    ("50b", "a & b", {"a": 1, "b": 2}, "float", ERROR, 1),
    ("50c", "a.b", {"a": 1, "b": 2}, "float", ERROR, 1),
    ("50d", "1 2", {}, "float", ERROR, 1),
    ("50e", "a ? b : c", {"a": 1, "b": 2, "c": 3}, "float", 2, 1),
    ("51a", "", {}, "float", ERROR, ERROR),
    ("51b", "1 +", {}, "float", ERROR, ERROR),
    ("51c", "(1 + 2", {}, "float", ERROR, ERROR),
    ("51d", "min(1", {}, "float", ERROR, ERROR),
    ("52a", "nosuch(1)", {}, "float", ERROR, None),
    ("52b", "min(1)", {}, "float", ERROR, None),
    ("52c", "lower('a','b')", {}, "string", ERROR, None),
    ("53", r"'it\'s'", {}, "string", "it's", r"it\'s"),
    ("54a", "'abc", {}, "string", ERROR, "abc"),
    ("54b", '"a\\', {}, "string", ERROR, ERROR),
    (
        "55a",
        "round((readyReplicas / max(replicas, 1)) * 100, 1)",
        {"readyReplicas": 2, "replicas": 3},
        "float",
        66.7,
        66.7,
    ),
    (
        "55b",
        "round((readyReplicas / max(replicas, 1)) * 100, 1)",
        {"readyReplicas": 0, "replicas": 0},
        "float",
        0.0,
        0.0,
    ),
    ("56", "round(capacity / 1073741824, 2)", {"capacity": 5368709120}, "float", 5.0, 5.0),
    ("57", "if(phase == 'Bound', 1, 0)", {"phase": "Bound"}, "float", 1, None),
    ("58a", "percentage(1, 4)", {}, "float", 25, None),
    ("58b", "percentage(1, 0)", {}, "float", 0, None),
]


def result(expression: str, values: dict[str, Any], type_: Any, mode: Any) -> Any:
    try:
        return evaluate(expression, values, type_=type_, mode=mode)
    except SourceError:
        return ERROR


def rows(position: int) -> list[Any]:
    # A null needs a type: in vector 9 the capacity is a number that is absent.
    return [
        pytest.param(*vector[1:4], vector[position], id=f"{vector[0]}: {vector[1]}")
        for vector in VECTORS
        if vector[0] != "9"
    ]


@pytest.mark.parametrize(("expression", "values", "type_", "wanted"), rows(4))
def test_expressions_give_the_listed_values(
    expression: str, values: dict[str, Any], type_: Any, wanted: Any
) -> None:
    found = result(expression, values, type_, "standard")
    assert found == wanted
    assert type(found) in (type(wanted), float, int)


@pytest.mark.parametrize(("expression", "values", "type_", "wanted"), rows(5))
def test_compat_mode_gives_what_the_original_gave(
    expression: str, values: dict[str, Any], type_: Any, wanted: Any
) -> None:
    found = result(expression, values, type_, "compat")
    assert found == wanted
    assert type(found) in (type(wanted), float, int)


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_a_null_divisor_gives_null(mode: Any) -> None:
    spec = source(
        field("used", type_="integer"),
        field("capacity", type_="integer"),
        computed=[computed("ratio", "used / capacity")],
        mode=mode,
    )
    assert collect(spec, [{"used": 5, "capacity": None}])[0]["ratio"] is None


@pytest.mark.parametrize("expression", ["sum(sizes)", "avg(sizes)", "sum(sizes) ?? -1"])
def test_a_list_whose_sum_is_too_large_spoils_no_other_object(expression: str) -> None:
    spec = source(field("sizes", ".sizes[*]", "float"), computed=[computed("all", expression)])
    rows = collect(spec, [{"sizes": [1e308, 1e308]}, {"sizes": [4.0]}])
    assert [row["all"] for row in rows] == [-1.0 if "??" in expression else None, 4.0]


def test_a_joined_text_is_as_limited_as_others() -> None:
    text = "x" * 4096
    joined = "join(split(name, ''), name)"
    assert evaluate(f"{joined} ?? 'long'", {"name": text}, type_="string") == "long"
    assert evaluate("len(join(split(name, ''), '-'))", {"name": text}, type_="float") == 8191


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("substr(v, big * big)", ""),
        ("substr(v, 1, big * big)", "bc"),
        ("substr(v, big * big - big * big)", ""),
        ("substr(v, 0.5, 1.5)", "a"),
        ("substr(v, 0, 0 - 1)", None),
    ],
)
def test_compat_mode_cuts_texts_at_any_number(expression: str, wanted: str | None) -> None:
    values = {"v": "abc", "big": 1e200}
    assert evaluate(expression, values, type_="string", mode="compat") == wanted


def test_computed_fields_may_be_declared_in_any_order() -> None:
    late = [computed("b", "a * 2"), computed("a", "x + 1")]
    row = collect(source(field("x", type_="integer"), computed=late), [{"x": 1}])[0]
    assert (row["a"], row["b"]) == (2, 4)
    with pytest.raises(SourceError, match="computed field 'b' references unknown field 'a'"):
        compile_source(source(field("x", type_="integer"), computed=late, mode="compat"))


def test_a_cycle_is_named() -> None:
    cycle = [computed("a", "b + 1"), computed("b", "a + 1")]
    with pytest.raises(SourceError, match="cycle: a → b → a"):
        compile_source(source(computed=cycle))
    with pytest.raises(SourceError, match="unknown field 'b'"):
        compile_source(source(computed=cycle, mode="compat"))


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_age_counts_seconds(mode: Any) -> None:
    minute_ago = rfc3339.format_time(NOW - timedelta(seconds=60))
    assert evaluate("age(ts)", {"ts": minute_ago}, type_="float", mode=mode) == 60.0
    assert evaluate("age(ts)", {"ts": ""}, type_="float", mode=mode) is None
    assert evaluate("age(ts)", {"ts": "bad"}, type_="float", mode=mode) is None
    assert evaluate("now()", type_="string", mode=mode) == "2026-11-15T12:00:00Z"
