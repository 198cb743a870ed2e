"""Conditions that end an experiment."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments.completion import (
    evaluate_condition,
    find_condition_error,
    read_values,
)
from quarterdeck.operators.experiments.validation import validate


def reported(condition: str, *runs: dict[str, str], phase: str = "Succeeded") -> Experiment:
    """An experiment whose workflow has reported output parameters, the last run in a phase."""
    statuses = [
        {"name": f"demo-{number}", "phase": "Succeeded", "outputs": outputs}
        for number, outputs in enumerate(runs)
    ]
    status: dict[str, Any] = {"phase": "Running", "runs": statuses[:-1]}
    if statuses:
        status["workflowStatus"] = {**statuses[-1], "phase": phase}
    return experiment(
        workflow={
            "template": "smoke",
            "completion": {"mode": "condition", "condition": condition},
        },
        status=status,
    )


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("outputs.verdict == 'pass'", True),
        ("outputs['verdict'] == 'fail'", False),
        ("metrics.p99 < 0.5", True),
        ("metrics.p99 < 0.3", False),
        ("metrics.most > 1e308", True),
        ("runs >= 2", True),
        ("runs > 2", False),
        ("'p50' in metrics && metrics.p50 < 1.0", False),
    ],
)
def test_a_condition_sees_outputs_means_and_the_number_of_runs(
    condition: str, *, is_met: bool
) -> None:
    first = {"metric-p99": "0.2", "metric-most": "[1.7e308, 1.7e308]"}
    last = {"verdict": "pass", "metric.p99": "[0.4, 0.6]"}
    assert evaluate_condition(reported(condition, first, last)).is_met is is_met


def test_a_condition_that_is_not_met_shows_the_values() -> None:
    found = evaluate_condition(reported("metrics.p99 < 0.1", {"metric.p99": "0.2", "note": "x"}))
    assert found.detail == "metrics.p99 = 0.2, outputs.note = 'x'"


def test_a_value_that_was_not_reported_is_not_met_and_named() -> None:
    found = evaluate_condition(reported("metrics.p99 < 0.1", {}))
    assert not found.is_met
    assert "p99" in found.detail
    assert "no output parameters" in found.detail


def test_a_workflow_that_still_runs_is_no_finished_run() -> None:
    assert read_values(reported("true", {}, {}, phase="Running").status)["runs"] == 1


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("", "Syntax error"),
        ("metrics.p99 <", "Syntax error"),
        ("latency < 1.0", "undeclared reference to 'latency'"),
        ("metrics.p99", "must evaluate to a bool"),
        ("outputs.verdict < 1", "no matching overload"),
    ],
)
def test_a_wrong_condition_is_an_error_of_the_spec(condition: str, part: str) -> None:
    assert part in find_condition_error(condition)
    problems = validate(reported(condition), {}).problems
    assert [problem.error.field for problem in problems] == ["spec.workflow.completion.condition"]


def test_mode_duration_needs_a_duration() -> None:
    workflow = {"template": "smoke", "completion": {"mode": "duration"}}
    problems = validate(experiment(workflow=workflow), {}).problems
    assert [problem.error.field for problem in problems] == ["spec.workflow.completion.duration"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8), st.floats(-1e6, 1e6))
def test_a_condition_compares_the_mean_of_all_runs(values: list[float], bound: float) -> None:
    runs = [{"metric.x": repr(value)} for value in values]
    mean = read_values(reported("true", *runs).status)["metrics"]["x"]
    assert min(values) - 1e-6 <= mean <= max(values) + 1e-6
    found = evaluate_condition(reported(f"metrics.x < double('{bound!r}')", *runs))
    assert found.is_met is (mean < bound)
