"""What users may write into annotations that controllers read as numbers."""

from typing import Any

import pytest

from quarterdeck.server.lifecycle.workloads.deployment_sets import get_set_revision
from quarterdeck.server.lifecycle.workloads.replica_sets import rank_for_deletion

Object = dict[str, Any]
UNREADABLE = ["", "-", "²", "--5", "9" * 5000]


def annotated(name: str, key: str, text: str) -> Object:
    return {"metadata": {"name": name, "namespace": "n", "annotations": {key: text}}}


@pytest.mark.parametrize(("text", "revision"), [("7", 7), *((each, 0) for each in UNREADABLE)])
def test_the_revision_of_a_replica_set_is_zero_unless_it_is_a_number(
    text: str, revision: int
) -> None:
    replica_set = annotated("a", "deployment.kubernetes.io/revision", text)
    assert get_set_revision(replica_set) == revision


@pytest.mark.parametrize("text", UNREADABLE)
def test_the_cost_of_deleting_a_pod_is_zero_unless_it_is_a_number(text: str) -> None:
    key = "controller.kubernetes.io/pod-deletion-cost"
    pods = [annotated("a", key, "5"), annotated("b", key, text), annotated("c", key, "-5")]
    assert [pod["metadata"]["name"] for pod in rank_for_deletion(pods)] == ["c", "b", "a"]
