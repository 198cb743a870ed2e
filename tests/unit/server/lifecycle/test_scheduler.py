"""Which pods may run on which nodes."""

from typing import Any

import pytest

from quarterdeck.server.lifecycle.workloads.scheduler import explain_misfit

Object = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


def node(status: Object | None = None, labels: Object | None = None, **spec: Any) -> Object:
    metadata = {"name": "n", "labels": labels or {}}
    return {"metadata": metadata, "spec": spec, "status": READY if status is None else status}


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": spec}


def affine(key: str, operator: str, *values: str, member: str = "matchExpressions") -> Object:
    term = {member: [{"key": key, "operator": operator, "values": list(values)}]}
    required = {"nodeSelectorTerms": [term]}
    kind = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return pod(affinity={"nodeAffinity": kind})


GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("asks", "place", "expected"),
    [
        pytest.param(pod(), node(), "", id="any"),
        pytest.param(pod(), node({}), "node(s) were not ready", id="not ready"),
        pytest.param(pod(), node(unschedulable=True), "node(s) were unschedulable", id="cordoned"),
        pytest.param(
            pod(), node(taints=[GPU]), "node(s) had untolerated taint {gpu: yes}", id="taint"
        ),
        pytest.param(
            pod(), node(taints=[{**GPU, "effect": "PreferNoSchedule"}]), "", id="soft taint"
        ),
        pytest.param(
            pod(tolerations=[{"key": "gpu", "value": "yes"}]), node(taints=[GPU]), "", id="equal"
        ),
        pytest.param(
            pod(tolerations=[{"key": "gpu", "value": "no"}]),
            node(taints=[GPU]),
            "node(s) had untolerated taint {gpu: yes}",
            id="another value",
        ),
        pytest.param(
            pod(tolerations=[{"operator": "Exists"}]), node(taints=[GPU]), "", id="bears all"
        ),
        pytest.param(
            pod(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]),
            node(taints=[GPU]),
            "node(s) had untolerated taint {gpu: yes}",
            id="another effect",
        ),
        pytest.param(pod(nodeSelector={"a": "x"}), node(labels={"a": "x"}), "", id="selected"),
        pytest.param(
            pod(nodeSelector={"a": "x"}), node(labels={"a": "y"}), AFFINITY, id="not selected"
        ),
        pytest.param(affine("a", "In", "x", "y"), node(labels={"a": "y"}), "", id="in"),
        pytest.param(affine("a", "In", "x"), node(), AFFINITY, id="not in"),
        pytest.param(affine("a", "NotIn", "x"), node(), "", id="absent is not in"),
        pytest.param(affine("a", "Exists"), node(labels={"a": ""}), "", id="exists"),
        pytest.param(affine("a", "DoesNotExist"), node(labels={"a": ""}), AFFINITY, id="absent"),
        pytest.param(affine("a", "Gt", "3"), node(labels={"a": "4"}), "", id="greater"),
        pytest.param(affine("a", "Lt", "3"), node(labels={"a": "4"}), AFFINITY, id="not less"),
        pytest.param(affine("a", "Gt", "x"), node(labels={"a": "4"}), AFFINITY, id="no number"),
        pytest.param(affine("a", "Odd"), node(), AFFINITY, id="no operator"),
        pytest.param(
            affine("metadata.name", "In", "n", member="matchFields"), node(), "", id="by name"
        ),
    ],
)
def test_the_scheduler_explains_why_a_node_does_not_fit(
    asks: Object, place: Object, expected: str
) -> None:
    assert explain_misfit(asks, place) == expected
