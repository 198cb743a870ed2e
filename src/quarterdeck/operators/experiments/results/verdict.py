"""Evaluates the hypothesis of an experiment by its metrics and success criteria. Pure."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence

from quarterdeck.apis.experiments.status import Verdict
from quarterdeck.apis.experiments.workflow import Hypothesis, SuccessCriterion
from quarterdeck.operators.experiments.results.document import (
    Criterion,
    HypothesisResult,
    Metric,
)
from quarterdeck.operators.experiments.results.statistics import compute_mean

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


def evaluate_hypothesis(hypothesis: Hypothesis, metrics: Mapping[str, Metric]) -> HypothesisResult:
    """Evaluate every success criterion, and combine them into a verdict."""
    criteria = tuple(_evaluate(each, metrics) for each in hypothesis.success_criteria)
    return HypothesisResult(
        claim=hypothesis.claim,
        questions=hypothesis.questions,
        focus=hypothesis.focus,
        success_criteria=criteria,
        machine_verdict=combine([each.passed for each in criteria]),
    )


def combine(outcomes: Sequence[bool | None]) -> Verdict:
    """Combine criteria that hold, do not hold, or have no data (None).

    One that does not hold invalidates the hypothesis. Otherwise one without data makes the
    verdict insufficient.
    """
    if not outcomes:
        return ""
    if any(outcome is False for outcome in outcomes):
        return "invalidated"
    return "insufficient" if any(outcome is None for outcome in outcomes) else "validated"


def compute_mean_value(metric: Metric | None) -> float | None:
    """Compute the mean of a metric's finite values; None if there are none."""
    values = [each.value for each in metric.data if math.isfinite(each.value)] if metric else []
    return compute_mean(values) if values else None


def _evaluate(criterion: SuccessCriterion, metrics: Mapping[str, Metric]) -> Criterion:
    actual = compute_mean_value(metrics.get(criterion.metric))
    passed = None
    if actual is not None:
        passed = _OPERATORS[criterion.operator](actual, float(criterion.value))
    return Criterion(
        metric=criterion.metric,
        operator=criterion.operator,
        value=criterion.value,
        description=criterion.description,
        actual_value=actual,
        passed=passed,
    )
