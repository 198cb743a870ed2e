"""The aggregations that the original's users rely on: what they give, and what they gave."""

from typing import Any

import msgspec
import pytest
from tests.unit.engine.sources import aggregate, aggregation

from quarterdeck.engine import SourceError

NOTHING: list[dict[str, Any]] = []


def values(*given: Any) -> list[dict[str, Any]]:
    return [{"v": value} for value in given]


@pytest.mark.parametrize("mode", ["standard", "compat"])
@pytest.mark.parametrize(
    ("rows", "function", "percentile", "wanted"),
    [
        (values(1.0, 2, 3), "sum", None, 6.0),
        (values(5, None, 3), "sum", None, 8),
        (values(5, None, 3), "avg", None, 4),
        (values(5, None, 3), "count", None, 3),
        (NOTHING, "count", None, 0),
        (NOTHING, "sum", None, 0),
        (NOTHING, "avg", None, None),
        (NOTHING, "min", None, None),
        (NOTHING, "max", None, None),
        (NOTHING, "percentile", 50, None),
        (NOTHING, "distinct", None, 0),
        (NOTHING, "median", None, None),
        (values("a", None, "b", "a"), "distinct", None, 2),
        (values(10, 20, 30, 40, 50), "percentile", 50, 30),
        (values(10, 20, 30, 40), "percentile", 50, 25),
        (values(10, 20, 30, 40), "percentile", 95, 38.5),
        (values(*range(1, 11)), "percentile", 90, 9.1),
        (values(*range(1, 11)), "percentile", 95, 9.55),
        (values(3, 1, 2), "percentile", 25, 1.5),
        (values(42), "percentile", 99, 42),
        (values(10, 20), "percentile", 0, 10),
        (values(10, 20), "percentile", None, 10),
        (values(10, 20), "percentile", 75, 17.5),
        (values(10, 20), "percentile", 100, 20),
        (values(1, 2, 3, 4), "median", None, 2.5),
        (values(3, 1, 2), "median", None, 2),
        (values(3, 1, 2), "min", None, 1),
        (values(3, 1, 2), "max", None, 3),
        (values("3", True, None), "sum", None, 0),
    ],
)
def test_aggregation_functions_give_the_listed_values(
    rows: list[dict[str, Any]], function: str, percentile: int | None, wanted: Any, mode: Any
) -> None:
    found = aggregate(rows, aggregation(function, percentile=percentile), mode=mode)
    assert found == (wanted if wanted is None else pytest.approx(wanted, abs=1e-9))


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_a_percentile_out_of_range_is_refused(mode: Any) -> None:
    with pytest.raises(SourceError, match="percentile 101 is out of range"):
        aggregate(values(10, 20), aggregation("percentile", percentile=101), mode=mode)


def test_equal_numbers_are_one_distinct_value() -> None:
    rows = values(1, 1.0)
    assert aggregate(rows, aggregation("distinct")) == 1
    assert aggregate(rows, aggregation("distinct"), mode="compat") == 2


CPU = [{"ns": "prod", "cpu": 4}, {"ns": "prod", "cpu": 6}, {"ns": "dev", "cpu": 2}]
GROUPED = [{"g": "a", "v": 10}, {"g": "a", "v": 20}, {"g": "a", "v": 30}]
PHASES = [{"status": phase} for phase in ["Running"] * 45 + ["Pending"] * 3 + ["Failed"]]


@pytest.mark.parametrize(
    ("rows", "chosen", "wanted", "compat"),
    [
        (CPU, aggregation("sum", "cpu", group_by="ns"), {"prod": 10, "dev": 2}, None),
        ([{"cpu": 4}], aggregation("sum", "cpu", group_by="ns"), {"_unknown_": 4}, None),
        (
            [{"replicas": 1}, {"replicas": 1}, {"replicas": 3}],
            aggregation("count", group_by="replicas"),
            {"1": 2, "3": 1},
            {"_unknown_": 3},
        ),
        (
            [{"flag": True}, {"flag": False}, {"flag": True}],
            aggregation("count", group_by="flag"),
            {"true": 2, "false": 1},
            {"_unknown_": 3},
        ),
        (GROUPED, aggregation("percentile", group_by="g", percentile=50), {"a": 20}, {"a": 10}),
        (GROUPED, aggregation("median", group_by="g"), {"a": 20}, None),
        (GROUPED, aggregation("avg", group_by="g"), {"a": 20}, None),
        (
            PHASES,
            aggregation("count", group_by="status"),
            {"Running": 45, "Pending": 3, "Failed": 1},
            None,
        ),
        (NOTHING, aggregation("count", group_by="status"), {}, None),
        (NOTHING, aggregation("sum", group_by="status"), {}, None),
        (
            [{"status": "r", "v": 4}, {"status": "s", "v": 6}, {"status": "r", "v": 2}],
            aggregation("sum", filter_=("status", "equals", "r")),
            6,
            None,
        ),
    ],
)
def test_groups_and_filters_give_the_listed_values(
    rows: list[dict[str, Any]], chosen: Any, wanted: Any, compat: Any
) -> None:
    assert aggregate(rows, chosen) == wanted
    assert aggregate(rows, chosen, mode="compat") == (wanted if compat is None else compat)


@pytest.mark.parametrize(
    ("value", "operator", "wanted", "matches", "compat"),
    [
        (3, "equals", "3", True, True),
        (3, "equals", "3.0", True, False),
        (3.0, "equals", "3.0", True, True),
        (3, "equals", "+3", True, True),
        (3, "equals", "+-3", False, False),
        (True, "equals", "true", True, True),
        ("x", "equals", "x", True, True),
        (None, "equals", "x", False, False),
        (None, "notEquals", "x", True, False),
        ("y", "notEquals", "x", True, True),
        ("b", "in", "[a, b,c]", True, True),
        ("d", "in", "[a, b,c]", False, False),
        (None, "in", "[a]", False, False),
        ("web-1", "matches", r"^web-\d+$", True, True),
        ("db", "matches", r"^web-\d+$", False, False),
        ("5", "greaterThan", "10", False, False),
        ("50", "greaterThan", "10", True, True),
        ("abc", "lessThan", "1", False, True),
        (5, "lessThan", "10.5", True, True),
        (None, "lessThan", "1", False, False),
        ("web-1", "contains", "b-", True, True),
        ("web-1", "startsWith", "web", True, True),
        ("web-1", "endsWith", "-1", True, True),
        (31, "startsWith", "3", True, True),
        (None, "contains", "", False, False),
    ],
)
def test_filters_match_the_listed_values(
    value: Any, operator: str, wanted: str, matches: bool, compat: bool
) -> None:
    chosen = aggregation("count", filter_=("v", operator, wanted))
    for others in ([], [None, 7, "x"]):
        rows = values(value, *others)
        alone = aggregate(values(*others), chosen) if others else 0
        assert aggregate(rows, chosen) - alone == matches
        alone = aggregate(values(*others), chosen, mode="compat") if others else 0
        assert aggregate(rows, chosen, mode="compat") - alone == compat


def test_compat_groups_can_be_stored_whatever_the_number() -> None:
    rows = [{"v": 65.0}, {"v": 55296.0}, {"v": 1e300}]
    found = aggregate(rows, aggregation("count", group_by="v"), mode="compat")
    assert found == {"A": 1, "\ufffd": 1, "_unknown_": 1}
    assert msgspec.json.encode(found)


def test_a_bad_pattern_is_a_compile_error() -> None:
    with pytest.raises(SourceError, match="not a regular expression"):
        aggregate(values("a"), aggregation("count", filter_=("v", "matches", "(")))
