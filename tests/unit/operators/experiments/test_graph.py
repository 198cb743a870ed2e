"""The order of targets, and what can be wrong with it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.operators.experiments import graph
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.graph import Edge


def edges(text: str) -> list[Edge]:
    """`b:a,c d` is: b depends on a and c, d on nothing."""
    found = []
    for word in text.split():
        name, _, depends = word.partition(":")
        found.append(Edge(name, tuple(filter(None, depends.split(",")))))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a", [["a"]], id="one"),
        pytest.param("app loadgen:app", [["app"], ["loadgen"]], id="the seed's sample"),
        pytest.param("c:a,b a b", [["a", "b"], ["c"]], id="dependent listed first"),
        pytest.param("a b:a c:a d:b,c", [["a"], ["b", "c"], ["d"]], id="diamond"),
        pytest.param("z a", [["z", "a"]], id="order of the spec"),
    ],
)
def test_levels_follow_dependencies_and_the_order_of_the_spec(
    text: str, expected: list[list[str]]
) -> None:
    assert graph.group_levels(edges(text)) == expected


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        pytest.param("a:a", Reason.DEPENDENCY_CYCLE, "a depends on itself", id="self"),
        pytest.param("a:b b:a", Reason.DEPENDENCY_CYCLE, "a -> b -> a", id="two"),
        pytest.param("a b:c c:d d:b", Reason.DEPENDENCY_CYCLE, "b -> c -> d -> b", id="three"),
        pytest.param("a:x", Reason.DEPENDENCY_UNKNOWN, "target x not found", id="unknown"),
        pytest.param("a b:a,a", Reason.INVALID_SPEC, "a is listed twice", id="duplicate"),
        pytest.param("a a", Reason.INVALID_SPEC, "target a is listed twice", id="target twice"),
    ],
)
def test_errors_name_what_is_wrong(text: str, reason: Reason, words: str) -> None:
    (error,) = graph.check(edges(text))
    assert error.reason == reason
    assert words in error.message


def test_a_target_outside_the_cycle_is_not_mentioned() -> None:
    (error,) = graph.check(edges("x:c a b:c c:d d:b"))
    assert error.value == "b -> c -> d -> b"


def test_a_long_chain_needs_no_recursion() -> None:
    chain = [Edge("t0"), *(Edge(f"t{n}", (f"t{n - 1}",)) for n in range(1, 200))]
    assert len(graph.group_levels(chain)) == 200
    assert len(graph.find_ancestors(chain)["t199"]) == 199


def test_all_errors_are_reported_at_once() -> None:
    found = graph.check(edges("a:x,y b:b c:d d:c"))
    assert len(found) == 4


NAMES = ["a", "b", "c", "d", "e", "f"]
GRAPHS = st.lists(
    st.builds(
        Edge,
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda edge: edge.name,
)


@given(GRAPHS)
def test_every_graph_has_levels_or_an_error(targets: list[Edge]) -> None:
    errors = graph.check(targets)
    if errors:
        with pytest.raises(ValueError, match=r"."):
            graph.group_levels(targets)
        return
    found = graph.group_levels(targets)
    place = {name: index for index, level in enumerate(found) for name in level}
    assert sorted(place) == sorted(target.name for target in targets)
    for target in targets:
        assert all(place[name] < place[target.name] for name in target.depends)


@given(GRAPHS)
def test_a_printed_cycle_is_a_cycle(targets: list[Edge]) -> None:
    depends = {target.name: target.depends for target in targets}
    for error in graph.check(targets):
        if error.reason is Reason.DEPENDENCY_CYCLE and error.entry is None:
            path = error.value.split(" -> ")
            assert path[0] == path[-1]
            assert all(after in depends[before] for before, after in itertools.pairwise(path))
