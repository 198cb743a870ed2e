"""`${...}` in parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.experiments.substitution import (
    NotYet,
    Reference,
    Scope,
    SubstitutionError,
    Unknown,
    find_references,
    substitute,
)

SCOPE = Scope(
    params={"a": "1", "empty": "", "nested": "${b}", "image.tag": "v2"},
    experiment={"name": "gw", "namespace": "experiments", "uid": "u1"},
    target={"name": "loadgen", "cluster": "hub", "tenant": "lab", "endpoint": ""},
    targets={"app": {"name": "app", "endpoint": "1.2.3.4", "outputs.url": "http://x"}, "db": {}},
    pending=frozenset({"db"}),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${a}", "1"),
        ("${params.a}", "1"),
        ("$$x", "$x"),
        ("$$${a}", "$1"),
        ("$values/v.yaml", "$values/v.yaml"),
        ("${b:-2}", "2"),
        ("${empty:-2}", "2"),
        ("${a:-2}", "1"),
        ("${empty}", ""),
        ("${nested}", "${b}"),
        ("${b:-}", ""),
        ("${image.tag}", "v2"),
        ("http://${targets.app.endpoint}/api", "http://1.2.3.4/api"),
        ("${targets.app.outputs.url}", "http://x"),
        ("${experiment.name}-${target.name}", "gw-loadgen"),
        ("${target.endpoint}", ""),
        ("{{workflow.parameters.x}} $EXPERIMENT", "{{workflow.parameters.x}} $EXPERIMENT"),
        ("", ""),
    ],
)
def test_references_are_replaced(text: str, expected: str) -> None:
    assert substitute(text, SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("${b}", Unknown, "not defined"),
        ("${b:?need}", SubstitutionError, "need"),
        ("${b:?}", SubstitutionError, "b must be set"),
        ("${targets.other.endpoint}", Unknown, "add it to depends"),
        ("${targets.app.color}", Unknown, "not defined"),
        ("${targets.db.endpoint}", NotYet, "when target db is ready"),
        ("${", SubstitutionError, "not closed"),
        ("x${a", SubstitutionError, "not closed"),
        ("${}", SubstitutionError, "not a reference"),
        ("${1a}", SubstitutionError, "not a reference"),
    ],
)
def test_what_cannot_be_replaced_says_why(
    text: str, error: type[SubstitutionError], words: str
) -> None:
    with pytest.raises(error, match=words):
        substitute(text, SCOPE)


def test_target_is_unknown_where_there_is_none() -> None:
    with pytest.raises(Unknown):
        substitute("${target.name}", Scope())


def test_references_can_be_listed() -> None:
    assert list(find_references("$$ ${a} ${b:-x y}")) == [
        Reference("a"),
        Reference("b", ":-", "x y"),
    ]


@given(st.text())
def test_text_without_dollars_stays(text: str) -> None:
    plain = text.replace("$", "")
    assert substitute(plain, SCOPE) == plain


@given(st.text())
def test_doubled_dollars_give_the_text_back(text: str) -> None:
    assert substitute(text.replace("$", "$$"), SCOPE) == text


@given(st.text(), st.text(alphabet="${}ab:-?.x"))
def test_values_are_never_expanded_again(value: str, around: str) -> None:
    scope = Scope(params={"p": value})
    assert substitute("${p}", scope) == value
    try:
        substitute(around, scope)
    except SubstitutionError:
        pass
