"""`summary.json`: the results of a finished run. Its field names are a public format."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from quarterdeck.apis.experiments.status import CostEstimate, IterationStatus, Verdict
from quarterdeck.kit import json
from quarterdeck.meta.objects import Struct

SUMMARY = "summary.json"
SNAPSHOT = "metrics-snapshot.json"


class Point(Struct, frozen=True, kw_only=True):
    """One value of one series."""

    value: float
    timestamp: str = ""
    labels: Mapping[str, str] = {}


class Metric(Struct, frozen=True, kw_only=True):
    """The result of one query."""

    query: str = ""
    type: str = "instant"
    unit: str = ""
    description: str = ""
    group: str = ""
    source: str = ""
    """`hub`, `target:<target>/<namespace>/<service>` or `workflow`."""
    error: str = ""
    data: tuple[Point, ...] = ()


class TimeRange(Struct, frozen=True, kw_only=True):
    """The window of the queries."""

    start: str
    end: str
    duration: str
    step_seconds: int


class Metrics(Struct, frozen=True, kw_only=True):
    """All metrics of a run."""

    collected_at: str = ""
    source: str = ""
    time_range: TimeRange | None = None
    queries: Mapping[str, Metric] = {}


class Criterion(Struct, frozen=True, kw_only=True):
    """A success criterion and its result."""

    metric: str
    operator: str
    value: str
    description: str = ""
    actual_value: float | None = None
    passed: bool | None = None
    """None if there is no data."""


class HypothesisResult(Struct, frozen=True, kw_only=True):
    """The hypothesis and the verdict on it."""

    claim: str
    questions: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()
    success_criteria: tuple[Criterion, ...] = ()
    machine_verdict: Verdict = ""


class TargetResult(Struct, frozen=True, kw_only=True):
    """A target as it was during the run."""

    name: str
    cluster_name: str = ""
    cluster_type: str = ""
    machine_type: str = ""
    node_count: int = 0
    components: tuple[str, ...] = ()
    revisions: Mapping[str, str] = {}
    """Revisions of the sources of each component, so that the run can be repeated."""


class WorkflowRun(Struct, frozen=True, kw_only=True):
    """One run of the workflow."""

    name: str = ""
    template: str = ""
    phase: str = ""
    started_at: str = ""
    finished_at: str = ""
    message: str = ""
    outputs: Mapping[str, str] = {}


class Result(Struct, frozen=True, kw_only=True):
    """The whole document."""

    name: str
    namespace: str = ""
    uid: str = ""
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    series: str = ""
    phase: Literal["", "Complete", "Failed"] = ""
    reason: str = ""
    message: str = ""
    created_at: str = ""
    completed_at: str = ""
    duration_seconds: float = 0.0
    hypothesis: HypothesisResult | None = None
    targets: tuple[TargetResult, ...] = ()
    workflow: WorkflowRun = WorkflowRun()
    runs: tuple[WorkflowRun, ...] = ()
    """Every run of the workflow if it was repeated."""
    metrics: Metrics = Metrics()
    samples: Mapping[str, tuple[float, ...]] = {}
    """The values of each metric that runs are compared by."""
    units: Mapping[str, str] = {}
    cost_estimate: CostEstimate | None = None
    iteration_status: IterationStatus | None = None


class ResultError(ValueError):
    """Raised for text that is not a result."""


def encode(result: Result) -> bytes:
    """Encode the document as indented JSON."""
    return msgspec.json.format(json.encode(msgspec.to_builtins(result)), indent=2) + b"\n"


def encode_metrics(result: Result) -> bytes:
    """Encode the metrics alone."""
    return msgspec.json.format(json.encode(msgspec.to_builtins(result.metrics)), indent=2) + b"\n"


def decode(data: bytes) -> Result:
    """Read a document.

    Raises:
        ResultError: if it is not one.
    """
    try:
        return msgspec.json.decode(data, type=Result)
    except json.UNREADABLE as error:
        raise ResultError(f"not a result of an experiment: {error}") from error
