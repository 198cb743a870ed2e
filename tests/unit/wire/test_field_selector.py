import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.field_selector import FieldOperator, FieldRequirement, FieldSelector
from quarterdeck.wire.label_selector import SelectorError

fields = st.from_regex(r"[a-z]{1,8}(\.[a-zA-Z]{1,8}){0,2}", fullmatch=True)


@given(
    st.lists(
        st.builds(FieldRequirement, fields, st.sampled_from(FieldOperator), st.text()), max_size=3
    )
)
def test_a_printed_selector_reads_back_equal(terms: list[FieldRequirement]) -> None:
    selector = FieldSelector(terms)
    assert FieldSelector.parse(str(selector)) == selector


@given(st.text(max_size=30))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    try:
        FieldSelector.parse(text)
    except SelectorError as error:
        assert str(error)


def test_fields_are_compared_by_equality_only() -> None:
    selector = FieldSelector.parse("metadata.name=web,status.phase!=Failed")
    values = {"metadata.name": "web", "status.phase": "Running"}
    assert selector.matches(lambda field: values.get(field, ""))
    values["status.phase"] = "Failed"
    assert not selector.matches(lambda field: values.get(field, ""))
    assert selector.exact("metadata.name") == "web"
    assert selector.exact("status.phase") is None


def test_a_term_without_an_operator_is_refused() -> None:
    with pytest.raises(SelectorError, match="invalid selector: 'a=b,c'; can't understand 'c'"):
        FieldSelector.parse("a=b,c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b\\x", "invalid escape sequence: \\x"),
        ("a=b\\", "invalid escape sequence: \\"),
        ("a=b=c", "unescaped character in value: 61"),
    ],
)
def test_bad_escapes_are_refused(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        FieldSelector.parse(text)
    assert message in str(caught.value)


def test_selectors_are_values() -> None:
    one = FieldSelector.equal("a", "b,c")
    assert str(one) == "a=b\\,c"
    assert FieldSelector.parse(str(one)) == one and {one: 1}[FieldSelector.parse(str(one))] == 1
    assert bool(one) and not FieldSelector() and one != "a"
    assert repr(one) == "FieldSelector('a=b\\\\,c')"
    assert one.requirements[0].matches("b,c") and not one.requirements[0].matches("b")
