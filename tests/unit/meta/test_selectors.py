import pytest

from quarterdeck.meta.selectors import LabelSelector, LabelSelectorRequirement, Operator


def requirement(operator: Operator, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key="tier", operator=operator, values=values)


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        pytest.param(LabelSelector(), {}, True, id="empty matches all"),
        pytest.param(
            LabelSelector(match_labels={"a": "b"}), {"a": "b", "c": "d"}, True, id="equal"
        ),
        pytest.param(LabelSelector(match_labels={"a": "b"}), {"a": "x"}, False, id="other value"),
        pytest.param(LabelSelector(match_labels={"a": "b"}), {}, False, id="no label"),
        pytest.param(
            LabelSelector(match_expressions=(requirement("In", "x", "y"),)),
            {"tier": "y"},
            True,
            id="in",
        ),
        pytest.param(
            LabelSelector(match_expressions=(requirement("In", "x"),)), {}, False, id="in, absent"
        ),
        pytest.param(
            LabelSelector(match_expressions=(requirement("NotIn", "x"),)),
            {},
            True,
            id="not in, absent",
        ),
        pytest.param(
            LabelSelector(match_expressions=(requirement("NotIn", "x"),)),
            {"tier": "x"},
            False,
            id="not in",
        ),
        pytest.param(
            LabelSelector(match_expressions=(requirement("Exists"),)),
            {"tier": ""},
            True,
            id="exists",
        ),
        pytest.param(
            LabelSelector(match_expressions=(requirement("DoesNotExist"),)),
            {"tier": ""},
            False,
            id="does not exist",
        ),
        pytest.param(
            LabelSelector(match_labels={"a": "b"}, match_expressions=(requirement("Exists"),)),
            {"a": "b"},
            False,
            id="all must hold",
        ),
    ],
)
def test_selectors_match(selector: LabelSelector, labels: dict[str, str], matches: bool) -> None:
    assert selector.matches(labels) is matches


def test_selectors_print_in_the_grammar_of_queries() -> None:
    selector = LabelSelector(
        match_labels={"b": "1", "a": "2"},
        match_expressions=(
            LabelSelectorRequirement(key="c", operator="In", values=("y", "x")),
            LabelSelectorRequirement(key="d", operator="NotIn", values=("z",)),
            LabelSelectorRequirement(key="e", operator="Exists"),
            LabelSelectorRequirement(key="f", operator="DoesNotExist"),
        ),
    )
    assert str(selector) == "a=2,b=1,c in (x,y),d notin (z),e,!f"
