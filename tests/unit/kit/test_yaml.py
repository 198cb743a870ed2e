from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import yaml
from quarterdeck.kit.yaml import YamlError

printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]))
documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | printable | st.just("a\nb\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(printable, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(printable, documents, max_size=3))
def test_what_is_dumped_loads_back_equal(document: dict[str, Any]) -> None:
    assert yaml.load(yaml.dump(document)) == document


@given(st.text(max_size=40))
def test_any_text_is_yaml_or_a_yaml_error(text: str) -> None:
    try:
        yaml.load(text)
    except YamlError as error:
        assert error.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("1:30", "1:30"),
        ("on", True),
        ("'on'", "on"),
        ("No", False),
        ("~", None),
        ("0777", 511),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1.0", 1.0),
        ("-5", -5),
        ("1.2.3", "1.2.3"),
        ("12ab", "12ab"),
    ],
)
def test_scalars_are_what_kubernetes_reads(text: str, value: object) -> None:
    found = yaml.load(f"v: {text}")["v"]
    assert found == value
    assert type(found) is type(value)


def test_keys_become_strings() -> None:
    assert yaml.load("on: 1\n80: 2\n1.5: 3\nnull: 4") == {"true": 1, "80": 2, "1.5": 3, "null": 4}


def test_a_key_may_stand_only_once() -> None:
    with pytest.raises(YamlError, match='line 3, column 3: key "b" already set in map'):
        yaml.load("a:\n  b: 1\n  b: 2\n")


def test_merge_keys_fill_in_what_is_missing() -> None:
    document = yaml.load("base: &b {x: 1, z: 2}\nmine:\n  <<: *b\n  z: 3\n")
    assert document["mine"] == {"x": 1, "z": 3}


def test_empty_documents_are_left_out() -> None:
    assert list(yaml.load_all("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n")) == [
        {"a": 1},
        {"b": 2},
    ]
    assert yaml.load("") is None


@pytest.mark.parametrize(
    "text", [".inf", "{a", "\tx", "? [a]\n: b", "[" * 300 + "]" * 300, b"\xff\xfe\xfd"]
)
def test_what_has_no_place_in_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(YamlError):
        yaml.load(text if isinstance(text, bytes) else f"v: {text}" if text == ".inf" else text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="lists in flow style"),
        pytest.param("{a: " * 100_000, id="maps in flow style"),
        pytest.param("- " * 20_000 + "x", id="lists in block style"),
        pytest.param("? " * 20_000 + "x", id="keys in block style"),
        pytest.param("\n".join(" " * level + "a:" for level in range(2_000)), id="indented maps"),
        pytest.param("&a [*a]", id="a list of itself"),
    ],
)
def test_deep_nesting_is_refused_and_never_a_crash(text: str) -> None:
    with pytest.raises(YamlError):
        yaml.load(text)


def test_many_brackets_that_are_not_deep_are_read() -> None:
    assert yaml.load("\n".join(["- [{a: []}]"] * 300)) == [[{"a": []}]] * 300
    assert yaml.load("a: '" + "[" * 1000 + "'") == {"a": "[" * 1000}


def test_aliases_cannot_blow_a_text_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(YamlError, match="excessive aliasing"):
        yaml.load("\n".join(lines))
    assert yaml.load("\n".join(lines[:2]))["a1"] == [["x"] * 10] * 10


@pytest.mark.parametrize("value", ["5", "[5]", "x"])
def test_a_merge_of_something_else_than_maps_is_refused(value: str) -> None:
    with pytest.raises(YamlError, match="<< takes a map"):
        yaml.load(f"<<: {value}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("9" * 30, 1e30),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 17, "0x" + "f" * 17),
        ("0x_", "0x_"),
        ("-0x10", -16),
        ("+010", 8),
        ("1_000", 1000),
    ],
)
def test_integers_too_long_for_64_bits_are_floats_or_text(text: str, value: object) -> None:
    assert yaml.load(text) == value
