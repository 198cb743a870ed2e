"""Conditions that end an experiment, evaluated on what its workflows report. Pure.

A condition is a CEL expression. Its variables are `outputs` (the output parameters of the
last run), `metrics` (the mean of each output parameter `metric-NAME` over all runs) and `runs` (how
many runs have succeeded).
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterdeck import cel
from quarterdeck.apis.experiments.status import ExperimentStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments.results import outputs
from quarterdeck.operators.experiments.results.statistics import compute_mean

_MAX_SHOWN = 512


class Evaluation(NamedTuple):
    """The result of evaluating a condition on the runs so far."""

    is_met: bool
    detail: str = ""
    """Why it is not met, with the values it was evaluated with."""


@functools.lru_cache(maxsize=256)
def compile_condition(text: str) -> cel.Program:
    """Compile a condition.

    Raises:
        cel.CompileError: if it is not an expression over what workflows report, or not a bool.
    """
    environment = cel.Environment(
        {
            "outputs": cel.map_of(cel.STRING, cel.STRING),
            "metrics": cel.map_of(cel.STRING, cel.DOUBLE),
            "runs": cel.INT,
        }
    )
    return environment.compile(text)


def find_condition_error(text: str) -> str:
    """Why a condition is invalid; empty if it compiles."""
    try:
        compile_condition(text)
    except cel.CompileError as error:
        return "; ".join(issue.message for issue in error.issues) or str(error)
    except RecursionError:
        return "the expression is nested too deeply"
    return ""


def evaluate_condition(experiment: Experiment) -> Evaluation:
    """Evaluate the experiment's condition on what its workflows have reported so far."""
    completion = experiment.spec.workflow.completion
    values = read_values(experiment.status)
    budget = cel.Budget()
    try:
        is_met = compile_condition(completion.condition).evaluate(values, budget=budget) is True
    except cel.CelError as error:
        return Evaluation(is_met=False, detail=f"{error}; {_describe(values)}")
    return Evaluation(is_met, "" if is_met else _describe(values))


def read_values(status: ExperimentStatus) -> dict[str, Any]:
    """The variables of a condition."""
    last = status.workflow_status
    succeeded = [each for each in outputs.list_runs(status) if each.phase == "Succeeded"]
    return {
        "outputs": dict(last.outputs) if last is not None else {},
        "metrics": {
            name: compute_mean([point.value for point in metric.data])
            for name, metric in outputs.read(status).items()
        },
        "runs": len(succeeded),
    }


def _describe(values: Mapping[str, Any]) -> str:
    """The values a condition was evaluated with, in one line."""
    metrics = [f"metrics.{name} = {value:g}" for name, value in sorted(values["metrics"].items())]
    others = [
        f"outputs.{name} = {value!r}"
        for name, value in sorted(values["outputs"].items())
        if not outputs.find_metric_name(name)
    ]
    text = ", ".join([*metrics, *others]) or "the workflow has reported no output parameters"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
