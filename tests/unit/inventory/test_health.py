"""The verdict on a cluster."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.inventory.cluster_operators import read_cluster_operators
from quarterdeck.inventory.health import Health, Observation, Thresholds, assess_health
from quarterdeck.inventory.nodes import NodeFacts


def node(name: str, *, ready: bool = True, cpu: float = 1.0, memory: int = 1) -> NodeFacts:
    return NodeFacts(
        name=name,
        timestamp="",
        status="Ready" if ready else "NotReady",
        cpu_allocatable=4.0,
        memory_allocatable=100,
        cpu_requested=cpu,
        memory_requested=memory,
    )


def observe(*nodes: NodeFacts, **more: Any) -> Observation:
    return Observation(**{"nodes": nodes, "age_s": 0.0, "interval_s": 30.0, **more})


def operator(**conditions: str) -> dict[str, Any]:
    listed = [
        {"type": type_, "status": status, "message": "why"} for type_, status in conditions.items()
    ]
    return {"metadata": {"name": "dns"}, "status": {"conditions": listed}}


_DEGRADED = tuple(read_cluster_operators([operator(Available="True", Degraded="True")]))
_FINE = tuple(read_cluster_operators([operator(Available="True", Degraded="False")]))


@pytest.mark.parametrize(
    ("seen", "health", "text"),
    [
        pytest.param(observe(node("a")), Health.HEALTHY, "Cluster is reachable", id="all well"),
        pytest.param(observe(), Health.HEALTHY, "Cluster is reachable", id="no nodes at all"),
        pytest.param(
            observe(node("a"), failure="refused"), Health.UNHEALTHY, "refused", id="unreachable"
        ),
        pytest.param(
            observe(node("a"), node("b", ready=False)),
            Health.UNHEALTHY,
            "1 of 2 nodes are not ready: b",
            id="half of the nodes",
        ),
        pytest.param(
            observe(node("a"), node("b"), node("c", ready=False)),
            Health.DEGRADED,
            "1 of 3 nodes are not ready: c",
            id="some nodes",
        ),
        pytest.param(
            observe(node("a", cpu=3.7)), Health.DEGRADED, "CPU requests are 92%", id="CPU"
        ),
        pytest.param(
            observe(node("a", memory=91)), Health.DEGRADED, "memory requests are 91%", id="memory"
        ),
        pytest.param(
            observe(node("a"), cluster_operators=_DEGRADED),
            Health.DEGRADED,
            "dns: degraded - why",
            id="an operator",
        ),
        pytest.param(
            observe(node("a"), cluster_operators=_FINE), Health.HEALTHY, "reachable", id="no issue"
        ),
        pytest.param(observe(node("a"), age_s=91.0), Health.DEGRADED, "3 intervals", id="old data"),
        pytest.param(
            observe(node("a"), age_s=600.0), Health.DEGRADED, "10 minutes", id="very old data"
        ),
        pytest.param(Observation(), Health.UNKNOWN, "never read", id="nothing known"),
        pytest.param(
            Observation(failure="refused"), Health.UNHEALTHY, "refused", id="never reached"
        ),
    ],
)
def test_the_verdict_follows_the_rules(seen: Observation, health: Health, text: str) -> None:
    verdict = assess_health(seen, Thresholds())
    assert verdict.health is health
    assert text in verdict.message


@given(
    st.lists(st.booleans(), max_size=12), st.floats(0, 500), st.booleans(), st.sampled_from((0, 1))
)
def test_a_verdict_is_never_better_than_its_worst_finding(
    ready: list[bool], age_s: float, fails: bool, operators: int
) -> None:
    nodes = tuple(node(f"n{i}", ready=each) for i, each in enumerate(ready))
    seen = observe(
        *nodes,
        age_s=age_s,
        failure="x" if fails else "",
        cluster_operators=_DEGRADED if operators else (),
    )
    verdict = assess_health(seen, Thresholds())
    down = ready.count(False)
    assert (verdict.health is Health.UNHEALTHY) == (fails or (down > 0 and down >= len(ready) / 2))
    is_fine = not fails and not down and not operators and age_s <= 90
    assert (verdict.health is Health.HEALTHY) == is_fine
    assert msgspec.to_builtins(verdict)


def test_a_cluster_that_was_never_read_is_not_said_to_have_no_operators() -> None:
    unread = assess_health(Observation(failure="refused"), Thresholds())
    found = unread.operators_healthy
    assert (found.status, found.reason) == ("Unknown", "NotCollected")
    assert assess_health(observe(node("a")), Thresholds()).operators_healthy.status == "True"
