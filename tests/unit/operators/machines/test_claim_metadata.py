"""Names and labels of the claims that fleets and runner pools create."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.names import check_dns1123_subdomain
from quarterdeck.operators.machines.claim_metadata import check_labels, generate_name
from quarterdeck.runtime import Stalled

_PART = r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?"
_NAMES = st.from_regex(rf"{_PART}(\.{_PART}){{0,2}}", fullmatch=True)


@given(_NAMES, st.integers())
def test_names_of_claims_are_valid(owner: str, seed: int) -> None:
    name = generate_name(owner, random.Random(seed))
    assert check_dns1123_subdomain(name) == []
    assert len(name) <= 63


def test_prefix_does_not_end_with_a_separator() -> None:
    owner = "a" * 49 + ".b"
    assert generate_name(owner, random.Random(1)).startswith("a" * 49 + "-")


@pytest.mark.parametrize("value", ["x" * 64, "a b", "-a"])
def test_label_that_is_not_valid_stalls(value: str) -> None:
    with pytest.raises(Stalled, match=r"machines cannot get the label example\.com/a="):
        check_labels({"example.com/good": "web", "example.com/a": value})


def test_valid_labels_are_accepted() -> None:
    check_labels({"example.com/a": "x" * 63, "example.com/b": ""})
