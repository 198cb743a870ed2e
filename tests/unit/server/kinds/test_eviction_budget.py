"""What disruption budgets say to evictions."""

from typing import Any

import pytest

from quarterdeck.server.kinds import eviction_budget
from quarterdeck.wire.status import ApiError, Forbidden, TooManyRequests

NOW = "2026-01-01T00:00:00Z"


def pod(phase: str = "Running", *, ready: bool = True, **metadata: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": "p", "labels": {"app": "web"}, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }


def budget(name: str = "b", app: str = "web", **status: Any) -> dict[str, Any]:
    counted = {"observedGeneration": 1, "desiredHealthy": 2, "currentHealthy": 3}
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": counted | status,
    }


def test_only_pods_that_run_are_protected() -> None:
    assert eviction_budget.is_protected(pod())
    assert not eviction_budget.is_protected(pod("Pending"))
    assert not eviction_budget.is_protected(pod("Succeeded"))
    assert not eviction_budget.is_protected(pod(deletionTimestamp=NOW))


def test_budget_is_found_by_its_selector() -> None:
    other, own = budget("other", "db"), budget()
    assert eviction_budget.find_budget(pod(), [other, own]) is own
    assert eviction_budget.find_budget(pod(), [other]) is None
    broken = budget()
    broken["spec"]["selector"] = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    assert eviction_budget.find_budget(pod(), [broken]) is None
    with pytest.raises(ApiError, match="more than one PodDisruptionBudget"):
        eviction_budget.find_budget(pod(), [own, budget("second")])


def test_pods_that_do_not_serve_are_free_while_enough_others_do() -> None:
    assert not eviction_budget.is_evictable_unready(budget(), pod())
    assert eviction_budget.is_evictable_unready(budget(), pod(ready=False))
    assert not eviction_budget.is_evictable_unready(budget(currentHealthy=1), pod(ready=False))
    always = budget(currentHealthy=0)
    always["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    assert eviction_budget.is_evictable_unready(always, pod(ready=False))


def test_spending_counts_down_to_exhaustion() -> None:
    condition = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods"}
    spent = budget(disruptionsAllowed=2, conditions=[condition])
    eviction_budget.count_disruption(spent, NOW)
    assert condition["status"] == "True"
    eviction_budget.count_disruption(spent, NOW)
    assert spent["status"]["disruptionsAllowed"] == 0
    assert condition == {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "lastTransitionTime": NOW,
    }
    with pytest.raises(TooManyRequests) as caught:
        eviction_budget.count_disruption(spent, NOW)
    status = caught.value.to_status()
    assert status["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert status["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 2 healthy pods and has 3 currently",
        }
    ]


def test_budget_that_nobody_counted_refuses_for_now() -> None:
    with pytest.raises(TooManyRequests) as caught:
        eviction_budget.count_disruption(budget(observedGeneration=0, disruptionsAllowed=5), NOW)
    assert caught.value.retry_after_s == 10
    with pytest.raises(Forbidden, match="disruptions allowed is negative"):
        eviction_budget.count_disruption(budget(disruptionsAllowed=-1), NOW)
