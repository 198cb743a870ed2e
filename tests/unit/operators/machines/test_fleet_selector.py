"""Selectors of fleets, as labels."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.machines.fleet_selector import format_selector, parse_selector_labels
from quarterdeck.runtime import Stalled

names = st.text("abcdefgh./-", min_size=1, max_size=12)
label_maps = st.dictionaries(names, names, min_size=1, max_size=4)


@given(label_maps)
def test_both_forms_of_a_selector_are_the_same_labels(labels: dict[str, str]) -> None:
    assert parse_selector_labels(labels) == labels
    assert parse_selector_labels({"matchLabels": labels}) == labels
    assert parse_selector_labels({**labels, "matchLabels": labels}) == labels


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"app": 1}, "spec.selector.app must be a string, not 1"),
        ({"matchLabels": {}}, "spec.selector.matchLabels must name at least one label"),
        (
            {"app": "a", "matchLabels": {"app": "b"}},
            "spec.selector.app is 'a', but 'b' in matchLabels",
        ),
        (
            {"matchLabels": {"app": "a"}, "matchExpressions": []},
            "spec.selector.matchExpressions is not supported: name the labels in matchLabels",
        ),
    ],
)
def test_selector_that_names_no_labels_is_refused(selector: dict[str, Any], message: str) -> None:
    with pytest.raises(Stalled) as refused:
        parse_selector_labels(selector)
    assert (refused.value.reason, refused.value.message) == ("InvalidSelector", message)


def test_selector_of_the_status_is_sorted() -> None:
    assert format_selector({"b": "2", "a": "1"}) == "a=1,b=2"
