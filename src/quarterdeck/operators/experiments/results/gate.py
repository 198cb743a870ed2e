"""The quality gate: whether there is enough data, and when to collect again. Pure.

A collection is due at the end of the run and then every `recollectDelaySeconds`. When it is due is
computed from the end of the run, so that a reconcile that comes early or a restart changes nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quarterdeck.apis.experiments.status import IterationStatus, QualityResult, Verdict
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.apis.experiments.workflow import QualityGate
from quarterdeck.operators.experiments.results.document import Metric


class Decision(NamedTuple):
    """The decision of the gate after a collection."""

    status: IterationStatus
    retry_after_s: float | None = None
    is_exhausted: bool = False


def choose_gate(experiment: Experiment) -> QualityGate | None:
    """Choose the quality gate: that of the spec, or the default with `spec.publish`.

    A failed run has none, because it is not worth waiting for its data.
    """
    spec = experiment.spec
    if experiment.status.phase != "Complete":
        return None
    if spec.quality_gate is not None:
        return spec.quality_gate if spec.quality_gate.enabled else None
    return QualityGate() if spec.publish and spec.metrics else None


def compute_due_in_s(
    gate: QualityGate, before: IterationStatus | None, *, elapsed_s: float
) -> float:
    """Seconds until the next collection is due; 0 if it is due now."""
    done = before.current_iteration if before is not None else 0
    return max(0.0, done * gate.recollect_delay_seconds - elapsed_s)


def evaluate(
    gate: QualityGate,
    before: IterationStatus | None,
    metrics: Mapping[str, Metric],
    *,
    verdict: Verdict,
) -> Decision:
    """Evaluate a collection: passed, to be repeated later, or exhausted."""
    earlier = before.quality_results if before is not None else ()
    number = (before.current_iteration if before is not None else 0) + 1
    missing = tuple(sorted(name for name, metric in metrics.items() if not metric.data))
    total = len(metrics)
    coverage = (total - len(missing)) / total if total else 1.0
    passed = coverage >= gate.min_data_coverage and verdict != "insufficient"
    is_last = number >= gate.max_iterations
    result = QualityResult(
        iteration=number,
        total_metrics=total,
        metrics_with_data=total - len(missing),
        coverage=round(coverage, 4),
        missing_metrics=missing,
        passed=passed,
        remedy=_describe_remedy(gate, passed=passed, is_last=is_last),
    )
    status = IterationStatus(
        current_iteration=number,
        max_iterations=gate.max_iterations,
        phase="Passed" if passed else "Exhausted" if is_last else "Recollecting",
        quality_results=(*earlier, result),
    )
    if passed:
        return Decision(status)
    if is_last:
        return Decision(status, is_exhausted=True)
    return Decision(status, retry_after_s=float(gate.recollect_delay_seconds))


def explain(status: IterationStatus) -> str:
    """Describe the last evaluation."""
    last = status.quality_results[-1]
    text = f"{last.metrics_with_data} of {last.total_metrics} metrics have data"
    return f"{text}; none: {', '.join(last.missing_metrics)}" if last.missing_metrics else text


def _describe_remedy(gate: QualityGate, *, passed: bool, is_last: bool) -> str:
    if passed:
        return ""
    if is_last:
        return "none left"
    return f"collect again after {gate.recollect_delay_seconds} s with a narrower window"
