"""Indexes of jobs as text, against sets of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.job_indexes import InvalidIndexesError, count_indexes, find_overlap

COMPLETIONS = 40
INDEXES = st.frozensets(st.integers(0, COMPLETIONS - 1))


def format_indexes(indexes: frozenset[int]) -> str:
    parts: list[list[int]] = []
    for index in sorted(indexes):
        if parts and parts[-1][-1] == index - 1:
            parts[-1].append(index)
        else:
            parts.append([index])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)


@given(INDEXES)
def test_indexes_are_counted(indexes: frozenset[int]) -> None:
    assert count_indexes(format_indexes(indexes), COMPLETIONS) == len(indexes)


@given(INDEXES, INDEXES)
def test_the_first_shared_index_is_found(some: frozenset[int], others: frozenset[int]) -> None:
    found = find_overlap(format_indexes(some), format_indexes(others), COMPLETIONS)
    assert found == min(some & others, default=None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3,1", "non-increasing order, previous: 3, current: 1"),
        ("3-2", "non-increasing order, previous: 3, current: 2"),
        ("40", 'too large index: "40"'),
        ("a", 'cannot convert string to integer for index: "a"'),
        ("9" * 5000, "cannot convert string to integer"),
        ("1-2-3", 'the fragment "1-2-3" violates the requirement'),
    ],
)
def test_text_that_is_no_list_of_indexes_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidIndexesError, match=problem[:40]):
        count_indexes(text, COMPLETIONS)
