"""Experiments and Components for tests, from the manifests people write."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.apis.experiments.v1alpha1 import Component, Experiment

WORKFLOW: Mapping[str, Any] = {"template": "smoke", "completion": {"mode": "workflow"}}


def experiment(
    name: str = "demo",
    *targets: Mapping[str, Any],
    namespace: str = "experiments",
    uid: str = "uid-1",
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Experiment:
    """An experiment; one target on the hub if none is given."""
    document = {
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
        "spec": {
            "targets": list(targets) or [{"name": "app", "cluster": {"type": "hub"}}],
            "workflow": WORKFLOW,
            **spec,
        },
        "status": status or {},
    }
    return msgspec.convert(document, Experiment)


def component(name: str, type_: str = "app", **spec: Any) -> Component:
    """A component; one chart if it has no sources."""
    sources: Sequence[Mapping[str, Any]] = spec.pop(
        "sources",
        ({"repoURL": "https://charts.example.com", "chart": name, "targetRevision": "1.2.3"},),
    )
    document = {
        "metadata": {"name": name, "generation": 1},
        "spec": {"type": type_, "sources": list(sources), **spec},
    }
    return msgspec.convert(document, Component)
