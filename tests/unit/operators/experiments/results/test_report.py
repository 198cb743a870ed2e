"""Reports for CI systems."""

import json
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.experiments.samples import experiment

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments.results.document import (
    Criterion,
    HypothesisResult,
    Result,
    ResultError,
    decode,
    encode,
)
from quarterdeck.operators.experiments.results.report import (
    Check,
    Report,
    build,
    to_json,
    to_junit,
)


def finished(phase: str = "Complete", **status: object) -> Experiment:
    found = experiment(
        status={
            "phase": phase,
            "reason": phase,
            "completedAt": "2026-01-01T00:10:00Z",
            "workflowStatus": {
                "name": "demo-validation",
                "phase": "Succeeded",
                "startedAt": "2026-01-01T00:00:00Z",
                "finishedAt": "2026-01-01T00:00:30Z",
            },
            "conditions": [
                {"type": "SpecValid", "status": "True", "reason": "Validated"},
                {
                    "type": "ApplicationsHealthy",
                    "status": "False",
                    "reason": "AppsTimeout",
                    "message": "late",
                },
            ],
            **status,
        }
    )
    metadata = msgspec.structs.replace(found.metadata, creation_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(found, metadata=metadata)


def outcomes(report: Report) -> dict[str, str]:
    return {each.name: each.outcome for each in report.checks}


def test_stages_and_runs_are_checks() -> None:
    report = build(finished(), None)
    assert outcomes(report) == {
        "SpecValid": "passed",
        "ApplicationsHealthy": "skipped",
        "demo-validation": "passed",
    }
    assert report.duration_seconds == 600
    assert report.checks[-1].duration_seconds == 30
    assert not report.has_failed


def test_the_stage_that_failed_is_named() -> None:
    report = build(finished("Failed", reason="AppsTimeout"), None)
    assert outcomes(report)["ApplicationsHealthy"] == "failed"


def test_a_failure_without_a_stage_still_fails() -> None:
    failed = finished("Failed", reason="BudgetExceeded", message="spent", workflowStatus=None)
    report = build(failed, None)
    assert outcomes(report)["phase"] == "failed"


def test_a_failed_workflow_shows_its_steps() -> None:
    workflow = {
        "name": "w",
        "phase": "Failed",
        "failedNodes": [{"displayName": "load", "message": "exit code 1"}],
    }
    report = build(finished("Failed", reason="WorkflowFailed", workflowStatus=workflow), None)
    (check,) = [each for each in report.checks if each.group == "workflow"]
    assert (check.outcome, check.message) == ("failed", "Failed: load: exit code 1")


def test_a_workflow_can_reject_itself() -> None:
    workflow = {"name": "w", "phase": "Succeeded", "outputs": {"verdict": "fail"}}
    report = build(finished(workflowStatus=workflow), None)
    assert report.has_failed
    assert report.checks[-1].message == "Succeeded: output verdict is fail"


@pytest.mark.parametrize(
    ("passed", "actual", "outcome", "message"),
    [
        (True, 0.4, "passed", "p99 is 0.4"),
        (False, 0.6, "failed", "p99 is 0.6"),
        (None, None, "failed", "no data"),
    ],
)
def test_criteria_are_checks(
    passed: bool | None, actual: float | None, outcome: str, message: str
) -> None:
    criterion = Criterion(
        metric="p99", operator="lt", value="0.5", passed=passed, actual_value=actual
    )
    hypothesis = HypothesisResult(claim="c", success_criteria=(criterion,))
    report = build(finished(), Result(name="demo", hypothesis=hypothesis))
    check = report.checks[-1]
    assert (check.name, check.outcome, check.message) == ("p99 < 0.5", outcome, message)


def test_junit_counts_what_it_lists() -> None:
    root = ElementTree.fromstring(to_junit(build(finished("Failed", reason="AppsTimeout"), None)))
    (suite,) = root
    assert suite.attrib["tests"] == str(len(suite)) == "3"
    assert suite.attrib["failures"] == "1"
    (failure,) = suite.iter("failure")
    assert failure.attrib["message"] == "AppsTimeout: late"


@given(st.text(max_size=40), st.sampled_from(["passed", "failed", "skipped"]))
def test_every_message_gives_well_formed_xml(text: str, outcome: str) -> None:
    check = msgspec.convert(
        {"name": text, "group": "g", "outcome": outcome, "message": text}, Check
    )
    report = Report(name="demo", checks=(check,))
    assert len(list(ElementTree.fromstring(to_junit(report)).iter("testcase"))) == 1
    assert json.loads(to_json(report))["checks"][0]["name"] == text


def test_results_are_read_as_they_were_written() -> None:
    result = Result(name="demo", samples={"p99": (0.1, 0.2)}, tags=("a",))
    assert decode(encode(result)) == result
    with pytest.raises(ResultError, match="not a result"):
        decode(b"[]")


def test_stages_have_the_time_between_their_conditions() -> None:
    def condition(type_: str, minute: int) -> dict[str, str]:
        moment = f"2026-01-01T00:{minute:02}:00Z"
        return {
            "type": type_,
            "status": "True",
            "reason": "Done",
            "lastTransitionTime": moment,
        }

    found = finished(
        completedAt="2026-01-01T00:10:00Z",
        conditions=[
            condition("SpecValid", 0),
            condition("ClustersProvisioned", 4),
            condition("ApplicationsHealthy", 5),
            condition("ResultsCollected", 12),
            condition("ResourcesCleaned", 15),
        ],
    )
    seconds = {each.name: each.duration_seconds for each in build(found, None).checks}
    assert seconds == {
        "SpecValid": 0,
        "ClustersProvisioned": 240,
        "ApplicationsHealthy": 60,
        "ResultsCollected": 120,
        "ResourcesCleaned": 180,
        "demo-validation": 30,
    }
