"""Builds the summary document of a finished run. Pure."""

import math

from quarterdeck.apis.experiments.status import TargetStatus, WorkflowStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.ports import Collected, FinishedRun
from quarterdeck.operators.experiments.results import outputs
from quarterdeck.operators.experiments.results.document import (
    HypothesisResult,
    Metrics,
    Result,
    TargetResult,
    WorkflowRun,
)


def build(
    run: FinishedRun, metrics: Metrics, hypothesis: HypothesisResult | None, found: Collected
) -> Result:
    """Build the summary document of a run."""
    experiment, status, spec = run.experiment, run.experiment.status, run.experiment.spec
    created = experiment.metadata.creation_timestamp or ""
    seconds = (run.ended_at - rfc3339.parse(created)).total_seconds() if created else 0.0
    last = status.workflow_status
    template = spec.workflow.template
    by_name = {each.name: each for each in status.targets}
    return Result(
        name=experiment.metadata.name,
        namespace=experiment.metadata.namespace,
        uid=experiment.metadata.uid,
        title=spec.title or experiment.metadata.name,
        description=spec.description,
        tags=spec.tags,
        series=spec.series,
        phase="Failed" if found.failure or status.phase == "Failed" else "Complete",
        reason=found.failure or status.reason,
        message=found.message if found.failure else status.message,
        created_at=created,
        completed_at=rfc3339.format_time(run.ended_at),
        duration_seconds=max(0.0, seconds),
        hypothesis=hypothesis,
        targets=tuple(
            _build_target(each, by_name.get(each.name) or TargetStatus(name=each.name))
            for each in spec.targets
        ),
        workflow=_build_workflow(last, template)
        if last is not None
        else WorkflowRun(template=template),
        runs=tuple(_build_workflow(each, template) for each in outputs.list_runs(status))
        if status.runs
        else (),
        metrics=metrics,
        samples=collect_samples(metrics),
        units={name: each.unit for name, each in metrics.queries.items() if each.unit},
        cost_estimate=found.cost,
        iteration_status=found.iteration,
    )


def collect_samples(metrics: Metrics) -> dict[str, tuple[float, ...]]:
    """Collect the values of each metric that has some."""
    found = {
        name: tuple(point.value for point in metric.data if math.isfinite(point.value))
        for name, metric in metrics.queries.items()
    }
    return {name: values for name, values in found.items() if values}


def _build_target(target: Target, status: TargetStatus) -> TargetResult:
    return TargetResult(
        name=target.name,
        cluster_name=status.cluster_name,
        cluster_type=target.cluster.type,
        machine_type=status.machine_type,
        node_count=status.node_count,
        components=status.components,
        revisions={each.name: each.revision for each in status.resolved_components},
    )


def _build_workflow(status: WorkflowStatus, template: str) -> WorkflowRun:
    return WorkflowRun(
        name=status.name,
        template=template,
        phase=status.phase,
        started_at=status.started_at,
        finished_at=status.finished_at,
        message=status.message,
        outputs=status.outputs,
    )
