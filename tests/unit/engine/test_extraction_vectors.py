"""Paths and field types: what they find, and what they found in the original."""

from typing import Any

import pytest
from tests.unit.engine.sources import extract

from quarterdeck.engine.conversion import ColumnConverter
from quarterdeck.engine.paths import format_segments, parse_path

OBJECT: dict[str, Any] = {
    "metadata": {
        "name": "web",
        "labels": {"app.kubernetes.io/name": "shop", "tier": "front"},
    },
    "items": ["first", "second", "last"],
    "spec": {
        "containers": [
            {"name": "app", "resources": {"requests": {"cpu": "250m"}}},
            {"name": "proxy", "resources": {"requests": {"cpu": "1"}}},
            {"name": "bare"},
        ]
    },
    "status": {
        "conditions": [
            {"type": "Initialized", "status": "True"},
            {"type": "Ready", "status": "False", "reason": "Starting"},
        ],
        "nothing": None,
    },
}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (".metadata.name", ["metadata", "name"]),
        ("metadata.name", ["metadata", "name"]),
        (".spec.containers[0].name", ["spec", "containers", "[0]", "name"]),
        (".a[0].b[1]", ["a", "[0]", "b", "[1]"]),
        ("..a..b.", ["a", "b"]),
        (".a['x.y/z']", ["a", "x.y/z"]),
        (r".a.x\.y", ["a", "x.y"]),
        (".a[*].b", ["a", "[*]", "b"]),
        ('.c[?(@.type=="Ready")].status', ["c", '[?(@.type=="Ready")]', "status"]),
    ],
)
def test_paths_have_segments(path: str, wanted: list[str]) -> None:
    assert format_segments(parse_path(path)) == wanted


@pytest.mark.parametrize(
    ("path", "wanted", "compat"),
    [
        (".metadata.name", "web", "web"),
        ("items[0]", "first", "first"),
        ("items[5]", None, None),
        ("items[-1]", "last", None),
        ("items[-4]", None, None),
        ("items[abc]", None, None),
        (".metadata.labels['app.kubernetes.io/name']", "shop", None),
        ('.metadata.labels["tier"]', "front", None),
        (r".metadata.labels.app\.kubernetes\.io/name", "shop", None),
        (".spec.containers[*].name", ["app", "proxy", "bare"], None),
        (".spec.containers[*].resources.requests.cpu", ["250m", "1"], None),
        ('.status.conditions[?(@.type=="Ready")].status', "False", None),
        (".status.conditions[?(@.type=='Ready' && @.status!='True')].reason", "Starting", None),
        ('.status.conditions[?(@.type=="Gone")].status', None, None),
        (".status.conditions[?(@.reason)].type", "Ready", None),
        (".status.nothing", None, None),
        (".status.nothing.deeper", None, None),
        (".metadata.name.deeper", None, None),
        (".metadata.name[0]", None, None),
        (".items.length", "3", None),
    ],
)
def test_paths_find_the_listed_values(path: str, wanted: Any, compat: Any) -> None:
    assert extract(OBJECT, path) == wanted
    assert extract(OBJECT, path, mode="compat") == compat


@pytest.mark.parametrize("mode", ["standard", "compat"])
@pytest.mark.parametrize("path", ["missing", "items[5]", "items[abc]", "a.b.c"])
def test_what_is_missing_takes_the_default(path: str, mode: Any) -> None:
    assert extract({"items": ["x"]}, path, "string", "unknown", mode=mode) == "unknown"


@pytest.mark.parametrize("mode", ["standard", "compat"])
def test_a_null_that_is_there_does_not_take_the_default(mode: Any) -> None:
    assert extract({"a": None}, "a", "string", "x", mode=mode) is None


@pytest.mark.parametrize("mode", ["standard", "compat"])
@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        (42.0, "string", "42"),
        (3.14, "string", "3.14"),
        (True, "string", "true"),
        (["a", 1], "string", "[a 1]"),
        ({"b": 1, "a": None}, "string", "map[a: b:1]"),
        ("42", "integer", 42),
        ("3.7", "integer", None),
        ("1e3", "integer", None),
        (3.9, "integer", 3),
        (-3.9, "integer", -3),
        (True, "integer", None),
        ([1], "integer", None),
        ("2.5", "float", 2.5),
        (3, "float", 3.0),
        ("NaN", "float", None),
        ("Infinity", "float", None),
        ("many", "float", None),
        ("TRUE", "boolean", True),
        ("1", "boolean", True),
        ("yes", "boolean", False),
        (0, "boolean", False),
        (0.5, "boolean", True),
        ([], "boolean", None),
        ("2024-01-01T00:00:00Z", "timestamp", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.25+02:00", "timestamp", "2024-01-01T00:00:00.25+02:00"),
        ("2024-13-01T00:00:00Z", "timestamp", None),
        ("2024-W01-1T00:00:00Z", "timestamp", None),
        ("not-a-date", "timestamp", None),
        ("", "timestamp", ""),
        (["a", "b", "c"], "arrayLength", 3),
        ({"a": 1, "b": 2}, "arrayLength", 2),
        ("str", "arrayLength", None),
        ("1h30m", "duration", 5400),
        ("1500ms", "duration", 1),
        ("-90s", "duration", -90),
        ("", "duration", 0),
        ("soon", "duration", None),
        (30, "duration", None),
    ],
)
def test_values_are_converted_to_their_type(value: Any, type_: Any, wanted: Any, mode: Any) -> None:
    found = extract({"v": value}, "v", type_, mode=mode)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize("others", [[], [None], [None, 1]])
@pytest.mark.parametrize("value", [2**63, 2**64 - 1, -(2**63) - 1])
def test_integers_of_more_than_64_bits_are_no_values(value: int, others: list[Any]) -> None:
    column = ColumnConverter("integer", 7).convert([value, *others])
    assert column == [7, *others]


@pytest.mark.parametrize(
    ("type_", "default", "wanted", "compat"),
    [
        ("integer", "7", 7, 7),
        ("integer", "abc", 0, 0),
        ("float", "0.5", 0.5, 0.5),
        ("boolean", "True", True, True),
        ("arrayLength", "0", 0, "0"),
        ("quantity", "500m", 0.5, 524288000),
        ("quantity", "1Gi", 1073741824, 1073741824),
        ("duration", "1m", 60, "1m"),
        ("timestamp", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ],
)
def test_defaults_are_converted(type_: Any, default: str, wanted: Any, compat: Any) -> None:
    assert extract({}, "missing", type_, default) == wanted
    assert extract({}, "missing", type_, default, mode="compat") == compat


@pytest.mark.parametrize(
    ("text", "wanted", "compat"),
    [
        ("", None, 0),
        ("1024", 1024, 1024),
        ("1Ki", 1024, 1024),
        ("1Mi", 1048576, 1048576),
        ("5Gi", 5368709120, 5368709120),
        ("1.5Gi", 1610612736, 1610612736),
        ("500Mi", 524288000, 524288000),
        ("1K", 1000, 1000),
        ("1k", 1000, 1024),
        ("1M", 10**6, 10**6),
        ("1G", 10**9, 10**9),
        ("2T", 2 * 10**12, 2 * 10**12),
        ("1P", 10**15, 10**15),
        ("1E", 10**18, 0),
        ("1Ei", 1152921504606846976, 0),
        ("1e3", 1000, 0),
        ("12E2", 1200, 0),
        ("100m", 0.1, 100),
        ("500m", 0.5, 500),
        ("1001m", 1.001, 1000),
        ("2", 2, 2),
        ("2000m", 2, 2000),
        ("0.5", 0.5, 0),
        ("250u", 0.00025, 0),
        ("1000n", 0.000001, 0),
        ("128974848000m", 128974848, 128974848000),
        ("-1Gi", -1073741824, -1073741824),
        ("abc", None, 0),
        ("100X", None, 0),
        ("1e308Ki", None, 0),
        ("1e300m", None, 0),
        ("1 Gi", None, 0),
        (" 1Gi ", None, 1073741824),
    ],
)
def test_quantities_are_base_units(text: str, wanted: Any, compat: Any) -> None:
    found = extract({"v": text}, "v", "quantity")
    assert found == wanted
    assert type(found) is type(wanted)
    assert extract({"v": text}, "v", "quantity", mode="compat") == compat
