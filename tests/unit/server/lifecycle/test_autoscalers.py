"""Autoscalers and their excuses."""

from collections.abc import Callable
from typing import Any

import pytest

from quarterdeck.server.lifecycle.engine.actions import Requeue, Update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.autoscalers import AUTOSCALERS, LOAD, Autoscalers
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
Look = Callable[..., View]
KEY = StoreKey(AUTOSCALERS, "n", "h")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def scaler(load: str = "", **status: Any) -> Object:
    notes = {LOAD: load} if load else {}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "n", "annotations": notes},
        "spec": {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 5},
        "status": status,
    }


def deployment(replicas: int) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n"},
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas},
    }


def find_reasons(view: View) -> dict[str, str]:
    (said, *_) = Autoscalers().plan(view, KEY)
    assert isinstance(said, Update)
    return {each["type"]: each["reason"] for each in said.value["status"]["conditions"]}


def test_an_autoscaler_without_a_target_cannot_scale(look: Look) -> None:
    assert find_reasons(look([scaler("100")])) == {"AbleToScale": "FailedGetScale"}


@pytest.mark.parametrize("load", ["", "²", "9" * 5000], ids=["none", "no number", "too long"])
def test_an_autoscaler_without_a_load_has_no_metrics(load: str, look: Look) -> None:
    reasons = find_reasons(look([scaler(load), deployment(2)]))
    assert reasons["ScalingActive"] == "FailedGetResourceMetric"


@pytest.mark.parametrize(
    ("load", "replicas", "reason"),
    [
        pytest.param("10", 2, "TooFewReplicas", id="idle"),
        pytest.param("300", 4, "DesiredWithinRange", id="busy"),
        pytest.param("900", 5, "TooManyReplicas", id="overwhelmed"),
    ],
)
def test_an_autoscaler_scales_within_its_bounds(
    load: str, replicas: int, reason: str, look: Look
) -> None:
    view = look([scaler(load), deployment(3)])
    assert find_reasons(view)["ScalingLimited"] == reason
    _, scaled, *_ = Autoscalers().plan(view, KEY)
    assert isinstance(scaled, Update)
    assert scaled.value["spec"]["replicas"] == replicas


def test_an_autoscaler_waits_between_two_changes(look: Look) -> None:
    view = look([scaler("900", lastScaleTime="2025-12-31T23:59:55Z"), deployment(3)])
    assert Requeue(10.0) in Autoscalers().plan(view, KEY)
