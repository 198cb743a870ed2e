"""Rows in the order of a value: a total order, whatever the values are."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.results import Resource
from quarterdeck.services.hub.sorting import sort_rows

_values: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2) | st.just(["x"])
)


def rows(values: list[Any]) -> list[Resource]:
    return [
        Resource(id=f"{index:03}", name=f"n{index}", values={"v": value})
        for index, value in enumerate(values)
    ]


@given(st.lists(_values, max_size=12), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_where_rows_stood(
    values: list[Any], is_descending: bool, random: Any
) -> None:
    given_rows = rows(values)
    shuffled = list(given_rows)
    random.shuffle(shuffled)
    first = sort_rows(given_rows, "v", is_descending=is_descending)
    assert first == sort_rows(shuffled, "v", is_descending=is_descending)
    absent = [row for row in first if row.values["v"] is None]
    assert first[len(first) - len(absent) :] == absent
    numbers = [row.values["v"] for row in first if isinstance(row.values["v"], int)]
    assert numbers == sorted(numbers, reverse=is_descending)


def test_rows_are_sorted_by_name_and_by_fields_nobody_has() -> None:
    given_rows = rows([3, 1, 2])
    assert [row.name for row in sort_rows(given_rows, "name", is_descending=True)] == [
        *("n2", "n1", "n0"),
    ]
    assert sort_rows(given_rows, "nope", is_descending=False) == given_rows


def test_rows_are_sorted_by_namespace_unless_a_field_has_that_name() -> None:
    def build(name: str, namespace: str, values: dict[str, Any]) -> Resource:
        return Resource(id=name, name=name, namespace=namespace, values=values)

    rows_ = [build("a", "z", {}), build("b", "", {}), build("c", "y", {})]
    found = sort_rows(rows_, "namespace", is_descending=False)
    assert [row.name for row in found] == ["c", "a", "b"], "rows of no namespace come last"
    own = [build("a", "x", {"namespace": "2"}), build("b", "y", {"namespace": "1"})]
    assert [row.name for row in sort_rows(own, "namespace", is_descending=False)] == ["b", "a"]
