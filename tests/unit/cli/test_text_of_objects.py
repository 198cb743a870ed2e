"""Objects, changes and experiments as one line of text."""

from typing import Any

import pytest

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.cli.changes import format_change, summarize
from quarterdeck.cli.commands.metrics.preview import build_aggregation_rows, format_problem
from quarterdeck.cli.experiments import describe
from quarterdeck.cli.flags import Form
from quarterdeck.cli.main import run
from quarterdeck.cli.output import list_table_rows
from quarterdeck.engine import Problem
from quarterdeck.kit import json
from quarterdeck.meta.objects import decode


def test_cells_of_a_table_without_a_value_say_so() -> None:
    definitions = [{"name": "A"}, {"name": "B"}, {"name": "C"}, {"name": "D", "priority": 1}]
    table = {"columnDefinitions": definitions, "rows": [{"cells": [None, True, 7, "wide"]}]}
    assert list_table_rows(table) == [["A", "B", "C"], ["<none>", "true", "7"]]
    assert list_table_rows(table, wide=True)[1][3:] == ["wide"]
    assert list_table_rows({}) == [[]]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, ""),
        ({"status": {}}, ""),
        ({"status": {"phase": "Running"}}, "Running"),
        ({"spec": {"replicas": 3}, "status": {"readyReplicas": 1}}, "1/3 ready"),
        (
            {
                "status": {
                    "phase": "Failed",
                    "conditions": [
                        {"type": "Synced", "status": "False", "reason": "No"},
                        {"type": "Ready", "status": "False", "reason": "Gone", "message": "lost"},
                    ],
                }
            },
            "Failed (Gone: lost)",
        ),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, ""),
        (
            {
                "status": {
                    "phase": "Succeeded",
                    "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}],
                }
            },
            "Succeeded (PodCompleted)",
        ),
    ],
)
def test_status_is_summarized(document: dict[str, Any], text: str) -> None:
    assert summarize(document) == text


def test_change_is_written_in_every_form() -> None:
    document = {"kind": "Node", "metadata": {"name": "a", "managedFields": []}, "status": {}}
    assert format_change("ADDED", document, Form.NAME) == "ADDED     Node a"
    assert format_change("ADDED", document, Form.TABLE) == "ADDED     Node a"
    assert json.decode(format_change("ADDED", document, Form.JSON).encode()) == {
        "type": "ADDED",
        "object": {"kind": "Node", "metadata": {"name": "a"}, "status": {}},
    }
    assert format_change("DELETED", document, Form.YAML).startswith("# DELETED\n---\nkind: Node")


TARGETS = [
    {"name": "a", "appsReady": True, "readyAt": "2030-01-01T00:00:00Z"},
    {"name": "b"},
    {"name": "c", "readyAt": "2030-01-01T00:00:00Z", "deployedLayers": ["infra"]},
    {"name": "d", "readyAt": "2030-01-01T00:00:00Z"},
]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, "one  Pending"),
        ({"phase": "Pending", "reason": "Invalid", "message": "no"}, "one  Pending  Invalid: no"),
        (
            {"phase": "Provisioning", "targets": TARGETS},
            "one  Provisioning  a ready, b provisioning, c deploying, d waiting",
        ),
        ({"phase": "Complete"}, "one  Complete  collecting results"),
        ({"phase": "Failed", "resultsURL": "file:///x"}, "one  Failed  cleaning up"),
        (
            {"phase": "Running", "reason": "AwaitingResume", "message": "look at it"},
            "one  Running  AwaitingResume: look at it;"
            " end it with: quarterdeck experiments resume one -n lab",
        ),
    ],
)
def test_state_of_an_experiment_is_one_line(status: dict[str, Any], text: str) -> None:
    document = {
        "apiVersion": "experiments.illm.io/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": "one", "namespace": "lab"},
        "spec": {"targets": [], "workflow": {"template": "t", "completion": {"mode": "workflow"}}},
        "status": status,
    }
    assert describe(decode(Experiment, json.encode(document))) == text


def test_problem_without_a_place_has_no_mark() -> None:
    assert format_problem(Problem(field="fields", message="must not be empty")).count("\n") == 0


def test_aggregations_without_groups_have_no_column_for_them() -> None:
    assert build_aggregation_rows({"total": 3}) == [["AGGREGATION", "VALUE"], ["total", "3"]]
    assert build_aggregation_rows({"by": {"b": 1, "a": None}}) == [
        ["AGGREGATION", "GROUP", "VALUE"],
        ["by", "a", "<none>"],
        ["by", "b", "1"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hypervisor", "timing"], "no timing given: set --scale or --boot"),
        (["hypervisor", "timing", "--scale", "fast"], "invalid --scale or --boot"),
        (["hypervisor", "timing", "--boot", "1-x"], "invalid --scale or --boot"),
        (["why", "pods"], "NAME is required: quarterdeck why KIND NAME"),
        (["delete", "cm"], "give KIND and NAME, or manifests with --filename"),
        (["apply"], "give manifests with --filename, or a folder with --kustomize"),
        (["logs"], "give a pod or --selector"),
    ],
)
def test_arguments_that_are_missing_are_named(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert words in capsys.readouterr().err
