"""How much work long lists are: no pair of items is compared, and the result is the same."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta.schema import Node
from quarterdeck.wire import strategic
from quarterdeck.wire.strategic.order import deduplicate

COUNT = 2_000


class Counted(str):
    """A text that counts how often one of its kind is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other) is True

    __hash__ = str.__hash__


def drop_pair_by_pair(items: Sequence[Any]) -> list[Any]:
    """What Kubernetes does: the last item fills the place of one that is dropped."""
    result, index = list(items), 0
    while index < len(result) - 1:
        other = index + 1
        while other < len(result):
            if result[index] != result[other]:
                other += 1
                continue
            last = result.pop()
            if other < len(result):
                result[other] = last
        index += 1
    return result


@given(st.lists(st.integers(0, 6), max_size=16))
def test_repeated_scalars_are_dropped_as_pair_by_pair(items: list[int]) -> None:
    assert deduplicate(items) == drop_pair_by_pair(items)


def test_repeated_scalars_are_found_without_comparing_each_pair() -> None:
    Counted.comparisons = 0
    assert len(deduplicate([Counted(number % 500) for number in range(COUNT)])) == 500
    assert Counted.comparisons < 20 * COUNT


def test_thousands_of_deletions_do_not_compare_each_pair() -> None:
    item = Node(type="object", properties={"name": Node(type="string")})
    items = Node(type="array", items=item, patch_strategy=("merge",), patch_merge_key="name")
    live = {"items": [{"name": Counted(number)} for number in range(COUNT)]}
    gone = [{"name": Counted(number), "$patch": "delete"} for number in range(1, COUNT)]
    Counted.comparisons = 0
    merged = strategic.apply(
        live, {"items": gone}, Node(type="object", properties={"items": items})
    )
    assert merged == {"items": [{"name": "0"}]}
    assert Counted.comparisons < 20 * COUNT
