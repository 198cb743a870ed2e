"""Reports of a run or a comparison for CI systems: JUnit XML and JSON. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree

import msgspec

from quarterdeck.apis.experiments.status import WorkflowStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import json, rfc3339
from quarterdeck.meta.conditions import TRUE, Condition
from quarterdeck.meta.objects import Struct
from quarterdeck.operators.experiments.conditions import (
    APPLICATIONS_HEALTHY,
    CLUSTERS_PROVISIONED,
    CLUSTERS_REGISTERED,
    QUALITY_GATE,
    RESOURCES_CLEANED,
    RESULTS_COLLECTED,
    SPEC_VALID,
    Reason,
)
from quarterdeck.operators.experiments.results.comparison import Comparison, MetricComparison
from quarterdeck.operators.experiments.results.document import Criterion, Result
from quarterdeck.operators.experiments.results.outputs import list_runs

Outcome = Literal["passed", "failed", "skipped"]
STAGES = (
    SPEC_VALID,
    CLUSTERS_PROVISIONED,
    CLUSTERS_REGISTERED,
    APPLICATIONS_HEALTHY,
    RESULTS_COLLECTED,
    QUALITY_GATE,
    RESOURCES_CLEANED,
)
VERDICT = "verdict"
"""Output parameter with the workflow's own verdict: pass or fail."""
REJECTED = "fail"
_SIGNS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Check(Struct, frozen=True, kw_only=True):
    """One line of a report."""

    name: str
    group: str
    outcome: Outcome
    message: str = ""
    duration_seconds: float = 0.0


class Report(Struct, frozen=True, kw_only=True):
    """The checks of a run or a comparison, for CI systems."""

    name: str
    namespace: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    verdict: str = ""
    results_url: str = msgspec.field(name="resultsURL", default="")
    duration_seconds: float = 0.0
    total_usd: str = msgspec.field(name="totalUSD", default="")
    checks: tuple[Check, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether a check failed."""
        return any(each.outcome == "failed" for each in self.checks)


def build(experiment: Experiment, result: Result | None) -> Report:
    """Build the report of a finished run; from its status alone if there are no results."""
    status = experiment.status
    checks = [*_list_stages(experiment), *_runs(experiment)]
    hypothesis = result.hypothesis if result is not None else None
    if hypothesis is not None:
        checks += [_build_criterion(each) for each in hypothesis.success_criteria]
    if status.phase == "Failed" and not any(each.outcome == "failed" for each in checks):
        message = f"{status.reason}: {status.message}"
        checks.append(Check(name="phase", group="stage", outcome="failed", message=message))
    seconds = _compute_seconds(experiment.metadata.creation_timestamp or "", status.completed_at)
    cost = status.cost_estimate
    return Report(
        name=experiment.metadata.name,
        namespace=experiment.metadata.namespace,
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        verdict=status.hypothesis_result,
        results_url=status.results_url,
        duration_seconds=seconds,
        total_usd=cost.total_usd if cost is not None else "",
        checks=tuple(checks),
    )


def build_comparison(comparison: Comparison) -> Report:
    """Build the report of a comparison, in which a regression is a failed check."""
    checks = [
        Check(
            name=each.name,
            group="comparison",
            outcome="failed" if each.change == "regression" else _choose_outcome(each),
            message=describe_metric(each),
        )
        for each in comparison.metrics
    ]
    return Report(name=f"{comparison.a} -> {comparison.b}", checks=tuple(checks))


def describe_metric(each: MetricComparison) -> str:
    """Describe the comparison of one metric."""
    if each.difference is None:
        return f"only in {'A' if each.count_a else 'B'}"
    percent = f" ({each.percent:+.1f} %)" if each.percent is not None else ""
    text = f"{each.change}: {each.mean_a:g} -> {each.mean_b:g}{percent}"
    if each.interval is not None:
        text += f", 95 % interval {each.interval[0]:+g} to {each.interval[1]:+g}"
    return f"{text}, p {each.p:.3g}" if each.p is not None else text


def _choose_outcome(each: MetricComparison) -> Outcome:
    return "skipped" if each.change in ("missing", "unclear") else "passed"


def to_json(report: Report) -> bytes:
    """The report as JSON, indented."""
    return msgspec.json.format(json.encode(msgspec.to_builtins(report)), indent=2) + b"\n"


def to_junit(report: Report) -> bytes:
    """The report as JUnit XML, which every CI system reads."""
    count = {
        outcome: sum(1 for each in report.checks if each.outcome == outcome)
        for outcome in ("failed", "skipped")
    }
    suite = ElementTree.Element(
        "testsuite",
        name=report.name,
        tests=str(len(report.checks)),
        failures=str(count["failed"]),
        errors="0",
        skipped=str(count["skipped"]),
        time=f"{report.duration_seconds:.3f}",
    )
    for check in report.checks:
        _add_case(suite, report.name, check)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _add_case(suite: ElementTree.Element, name: str, check: Check) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_drop_unprintable(f"{name}.{check.group}"),
        name=_drop_unprintable(check.name),
        time=f"{check.duration_seconds:.3f}",
    )
    message = _drop_unprintable(check.message)
    if check.outcome == "failed":
        ElementTree.SubElement(case, "failure", message=message).text = message
    elif check.outcome == "skipped":
        ElementTree.SubElement(case, "skipped", message=message)
    elif message:
        ElementTree.SubElement(case, "system-out").text = message


def _drop_unprintable(text: str) -> str:
    """Remove characters that XML 1.0 does not allow."""
    return "".join(
        char
        for char in text
        if char in "\t\n"
        or 0x20 <= ord(char) < 0xD800
        or 0xE000 <= ord(char) < 0xFFFE
        or ord(char) >= 0x10000
    )


def _list_stages(experiment: Experiment) -> Iterator[Check]:
    found = {each.type: each for each in experiment.status.conditions}
    began = experiment.metadata.creation_timestamp or ""
    for name in STAGES:
        condition = found.get(name)
        if condition is not None:
            if name == RESULTS_COLLECTED:
                began = experiment.status.completed_at
            yield Check(
                name=name,
                group="stage",
                outcome=_choose_stage_outcome(experiment, condition),
                message=f"{condition.reason}: {condition.message}".rstrip(": "),
                duration_seconds=_compute_seconds(began, condition.last_transition_time),
            )
            began = max(began, condition.last_transition_time)


def _choose_stage_outcome(experiment: Experiment, condition: Condition) -> Outcome:
    if condition.status == TRUE:
        return "passed"
    status = experiment.status
    lost = (Reason.ORPHANED, Reason.RESULTS_UNAVAILABLE)
    if condition.reason in lost or (status.phase == "Failed" and condition.reason == status.reason):
        return "failed"
    return "skipped"


def _runs(experiment: Experiment) -> Iterator[Check]:
    for run in list_runs(experiment.status):
        nodes = "; ".join(f"{node.display_name}: {node.message}" for node in run.failed_nodes)
        is_rejected = run.outputs.get(VERDICT) == REJECTED
        own = f"output {VERDICT} is {REJECTED}" if is_rejected else ""
        yield Check(
            name=run.name,
            group="workflow",
            outcome="failed" if is_rejected or not _is_passed(experiment, run) else "passed",
            message=": ".join(filter(None, (run.phase, run.message, nodes, own))),
            duration_seconds=_compute_seconds(run.started_at, run.finished_at),
        )


def _is_passed(experiment: Experiment, run: WorkflowStatus) -> bool:
    """Whether a workflow succeeded, or was stopped because the experiment was complete."""
    if run.phase == "Succeeded":
        return True
    return experiment.status.phase == "Complete" and run.phase not in ("Failed", "Error")


def _build_criterion(each: Criterion) -> Check:
    bound = f"{each.metric} {_SIGNS.get(each.operator, each.operator)} {each.value}"
    shown = "no data" if each.actual_value is None else f"{each.metric} is {each.actual_value:g}"
    return Check(
        name=bound,
        group="hypothesis",
        outcome="passed" if each.passed else "failed",
        message=": ".join(filter(None, (shown, each.description))),
    )


def _compute_seconds(start: str, end: str) -> float:
    if not start or not end:
        return 0.0
    return max(0.0, (rfc3339.parse(end) - rfc3339.parse(start)).total_seconds())


def build_rows(comparison: Comparison) -> Sequence[Sequence[str]]:
    """Build the rows of a comparison table, the header first."""
    head = ("METRIC", "A", "B", "CHANGE", "95 % INTERVAL", "P", "N", "RESULT")
    return [head, *(_build_row(each) for each in comparison.metrics)]


def _build_row(each: MetricComparison) -> tuple[str, ...]:
    unit = f" {each.unit}" if each.unit else ""
    interval = "-"
    if each.interval is not None:
        interval = f"{each.interval[0]:+.4g} to {each.interval[1]:+.4g}"
    return (
        each.name,
        f"{each.mean_a:.4g}{unit}" if each.mean_a is not None else "-",
        f"{each.mean_b:.4g}{unit}" if each.mean_b is not None else "-",
        f"{each.percent:+.1f} %" if each.percent is not None else "-",
        interval,
        f"{each.p:.3g}" if each.p is not None else "-",
        f"{each.count_a}/{each.count_b}",
        each.change,
    )
