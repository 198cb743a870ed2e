from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.label_requirement import build_requirement
from quarterdeck.wire.label_selector import (
    EVERYTHING,
    NOTHING,
    Operator,
    Requirement,
    Selector,
    SelectorError,
)

keys = st.from_regex(
    r"([a-z][a-z0-9]{0,5}\.io/)?[A-Za-z][A-Za-z0-9_.-]{0,6}[A-Za-z0-9]", fullmatch=True
)
keys |= st.sampled_from(("in", "notin"))  # operators only behind a key
values = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,6}[A-Za-z0-9])?)?", fullmatch=True)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(st.sampled_from(Operator))
    match operator:
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            chosen: frozenset[str] = frozenset()
        case Operator.IN | Operator.NOT_IN:
            chosen = draw(st.frozensets(values.filter(bool), min_size=1, max_size=3))
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            chosen = frozenset((str(draw(st.integers(0, 99))),))
        case _:
            chosen = frozenset((draw(values),))
    return Requirement(draw(keys), operator, chosen)


@given(st.lists(requirements(), max_size=4))
def test_a_printed_selector_reads_back_equal(terms: list[Requirement]) -> None:
    selector = Selector(terms)
    assert Selector.parse(str(selector)) == selector


@given(st.lists(requirements(), max_size=3), st.dictionaries(keys, values, max_size=4))
def test_a_selector_is_the_conjunction_of_its_terms(
    terms: list[Requirement], labels: dict[str, str]
) -> None:
    assert Selector(terms).matches(labels) == all(term.matches(labels) for term in terms)


@given(st.text(max_size=30))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    try:
        Selector.parse(text)
    except SelectorError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a notin (b)", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,)", {"a": ""}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a>3", {"a": "4"}, True),
        ("a>3", {"a": "x"}, False),
        ("a<3", {"a": "-1"}, True),
        ("a=b,c!=d", {"a": "b", "c": "d"}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
    ],
)
def test_selectors_match_as_in_kubernetes(
    text: str, labels: dict[str, str], expected: bool
) -> None:
    assert Selector.parse(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ],
)
def test_broken_selectors_are_refused_with_kubernetes_words(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        Selector.parse(text)
    assert str(caught.value) == message


def test_a_label_selector_object_becomes_a_selector() -> None:
    selector = Selector.from_label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["db"]}],
        }
    )
    assert selector.matches({"app": "web"})
    assert not selector.matches({"app": "web", "tier": "db"})
    assert Selector.from_label_selector({}).matches({"any": "thing"})
    assert Selector.from_label_selector(None) is NOTHING
    with pytest.raises(SelectorError, match='"Near" is not a valid label selector operator'):
        Selector.from_label_selector({"matchExpressions": [{"key": "a", "operator": "Near"}]})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param(
            {"key": "a", "operator": "In"}, "for 'in', 'notin' operators, values", id="in nothing"
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "values": ["b"]},
            "values set must be empty for exists and does not exist",
            id="exists with values",
        ),
        pytest.param(
            {"key": "a b", "operator": "Exists"}, 'key: Invalid value: "a b": name part', id="key"
        ),
        pytest.param(
            {"key": "a", "operator": "In", "values": ["b c"]},
            'values[0][a]: Invalid value: "b c": a valid label',
            id="value",
        ),
        pytest.param(
            {"key": "/", "operator": "In", "values": ["b c"]}, "[key: Invalid value", id="several"
        ),
    ],
)
def test_a_bad_expression_is_explained(expression: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        Selector.from_label_selector({"matchExpressions": [expression]})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a>b", "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("a in (=)", "found '=', expected: ',', ')' or identifier"),
        ("a in (b,=)", "found '=', expected: ',', or identifier"),
        ("a=(", "found '(', expected: identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ],
)
def test_other_broken_texts_are_explained_too(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        Selector.parse(text)
    assert message in str(caught.value)


def test_a_number_needs_exactly_one_bound() -> None:
    with pytest.raises(SelectorError, match="exactly one value is required"):
        build_requirement("a", Operator.GREATER_THAN, ("1", "2"))


def test_selectors_are_values() -> None:
    one = Selector.parse("b=c,a")
    assert {one: 1}[Selector.parse("a,b=c")] == 1
    assert (repr(one), bool(one), one.is_empty) == ("Selector('a,b=c')", True, False)
    assert EVERYTHING.is_empty and not EVERYTHING and one != "a,b=c"
    assert not NOTHING.matches({})


@pytest.mark.parametrize("word", ["in", "notin"])
def test_words_of_the_grammar_may_be_keys_and_values(word: str) -> None:
    labels = {word: word}
    for text in (word, f"{word}={word}", f"{word} in ({word})", f"!a,{word}"):
        assert Selector.parse(text).matches(labels), text
        assert not Selector.parse(text).matches({}), text
    assert Selector.parse(f"!{word}").matches({})
    assert not Selector.parse(f"!{word}").matches(labels)


def test_an_empty_list_of_values_holds_the_empty_value() -> None:
    selector = Selector.parse("a in ()")
    assert selector.matches({"a": ""})
    assert not selector.matches({"a": "b"})
    assert not selector.matches({})
