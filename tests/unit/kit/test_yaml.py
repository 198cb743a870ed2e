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
