"""What the annotations of a pod mean."""

from typing import Any

import pytest

from quarterdeck.server.kinds.simulation import PREFIX
from quarterdeck.server.lifecycle.workloads.behavior import FAILURES, Behavior, parse_behavior

Object = dict[str, Any]
PLAIN = Behavior(0.0, 0.0, 0.0, None, 0, None)


def pod(owner: str = "", **notes: str) -> Object:
    metadata: Object = {
        "annotations": {f"{PREFIX}{key.replace('_', '-')}": text for key, text in notes.items()}
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "controller": True}]
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(pod(), PLAIN, id="says nothing"),
        pytest.param(pod(start_delay="1m30s"), PLAIN._replace(start_delay=90.0), id="delay"),
        pytest.param(pod(start_delay="soon"), PLAIN, id="nonsense is not said"),
        pytest.param(pod(exit_code="x"), PLAIN, id="no exit code"),
        pytest.param(pod(run_for="5s"), PLAIN._replace(run_for=5.0), id="exits"),
        pytest.param(pod("Job"), PLAIN._replace(run_for=0.0), id="pods of jobs exit"),
        pytest.param(
            pod("Job", run_for="9s"), PLAIN._replace(run_for=9.0), id="when they are told"
        ),
        pytest.param(
            pod(fail="OOMKilled"),
            PLAIN._replace(run_for=0.0, exit_code=137, failure=FAILURES["OOMKilled"]),
            id="crashes",
        ),
        pytest.param(
            pod(fail="Error", exit_code="9", run_for="1s"),
            PLAIN._replace(run_for=1.0, exit_code=9, failure=FAILURES["Error"]),
            id="crashes as told",
        ),
        pytest.param(pod(fail="Unheard"), PLAIN, id="unknown failure"),
    ],
)
def test_annotations_of_a_pod_choose_its_behavior(value: Object, expected: Behavior) -> None:
    assert parse_behavior(value) == expected
