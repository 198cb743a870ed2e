"""Autoscalers through `autoscaling/v1` and back lose nothing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.autoscaler_conversion import build_cpu_metric, to_v1, to_v2

AMOUNTS = st.sampled_from(["1", "500m", "2Gi"])
NAMES = st.sampled_from(["m", "queue"])
SELECTORS = st.none() | st.just({"matchLabels": {"a": "b"}})


def build(kind: str, **members: Any) -> dict[str, Any]:
    source = {name: each for name, each in members.items() if each is not None}
    return {"type": kind, kind[0].lower() + kind[1:]: source}


def metric(name: str, selector: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name} if selector is None else {"name": name, "selector": selector}


METRICS = st.one_of(
    st.builds(
        lambda name, selector, amount: build(
            "Pods",
            metric=metric(name, selector),
            target={"type": "AverageValue", "averageValue": amount},
        ),
        NAMES,
        SELECTORS,
        AMOUNTS,
    ),
    st.builds(
        lambda name, selector, amount: build(
            "External", metric=metric(name, selector), target={"type": "Value", "value": amount}
        ),
        NAMES,
        SELECTORS,
        AMOUNTS,
    ),
    st.builds(
        lambda name, amount, share: build(
            "ContainerResource",
            name=name,
            container="c",
            target={"type": "Utilization", "averageUtilization": share}
            if share
            else {"type": "AverageValue", "averageValue": amount},
        ),
        NAMES,
        AMOUNTS,
        st.none() | st.integers(1, 100),
    ),
)
BEHAVIOR = st.none() | st.just(
    {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
        }
    }
)


@given(st.lists(METRICS, max_size=3), st.none() | st.integers(1, 100), BEHAVIOR)
def test_what_v1_has_no_field_for_survives(
    metrics: list[dict[str, Any]], share: int | None, behavior: dict[str, Any] | None
) -> None:
    cpu = [] if share is None else [build_cpu_metric(share)]
    spec: dict[str, Any] = {"maxReplicas": 3, "metrics": metrics + cpu or [build_cpu_metric()]}
    if behavior is not None:
        spec["behavior"] = behavior
    scaler = {"apiVersion": "autoscaling/v2", "metadata": {"name": "x"}, "spec": spec}
    assert to_v2(to_v1(scaler))["spec"] == spec


def test_annotations_of_others_stay() -> None:
    metadata = {"name": "x", "annotations": {"a": "b"}}
    scaler = {"apiVersion": "autoscaling/v1", "metadata": metadata, "spec": {"maxReplicas": 1}}
    converted = to_v1(to_v2(scaler))
    assert converted["metadata"]["annotations"] == {"a": "b"}
    assert converted["spec"]["targetCPUUtilizationPercentage"] == 80
    assert metadata["annotations"] == {"a": "b"}
