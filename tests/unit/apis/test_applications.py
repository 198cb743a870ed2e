import json
from typing import Any

import pytest

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.meta import crd
from quarterdeck.meta.objects import decode, to_builtins, to_document
from quarterdeck.meta.structural import compile_schema

SEED: dict[str, Any] = {
    "apiVersion": "cloudnative.elide.dev/v1",
    "kind": "Application",
    "metadata": {"name": "my-app"},
    "spec": {"replicas": 3, "image": "nginx:latest", "strategy": "RollingUpdate"},
}
FULL: dict[str, Any] = {
    "apiVersion": "cloudnative.elide.dev/v1",
    "kind": "Application",
    "metadata": {"name": "my-app", "namespace": "default"},
    "spec": {
        "replicas": 3,
        "image": "myorg/myapp:v1.0.0",
        "strategy": "RollingUpdate",
        "config": {"key": "value"},
    },
    "status": {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded"},
            {
                "type": "DatabaseReady",
                "status": "True",
                "reason": "ConnectionEstablished",
                "message": "Database connection successful",
            },
        ],
    },
}


def problems(document: dict[str, Any]) -> list[str]:
    return [
        error.field for error in compile_schema(crd.build_schema(Application)).validate(document)
    ]


def with_spec(**members: Any) -> dict[str, Any]:
    return {**SEED, "spec": {**SEED["spec"], **members}}


@pytest.mark.parametrize("manifest", [SEED, FULL], ids=["first example", "whole schema"])
def test_existing_manifests_are_accepted_unchanged(manifest: dict[str, Any]) -> None:
    assert problems(manifest) == []
    assert to_document(decode(Application, json.dumps(manifest).encode())) == manifest


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param(with_spec(replicas=-1), "spec.replicas", id="negative"),
        pytest.param(with_spec(replicas=101), "spec.replicas", id="over 100"),
        pytest.param(with_spec(replicas="3"), "spec.replicas", id="text"),
        pytest.param(with_spec(image=""), "spec.image", id="empty image"),
        pytest.param(with_spec(strategy="BlueGreen"), "spec.strategy", id="strategy"),
        pytest.param(with_spec(config={"a": 1}), "spec.config.a", id="config value"),
        pytest.param(with_spec(runPolicy="Twice"), "spec.runPolicy", id="run policy"),
        pytest.param(with_spec(ports=[{"port": 0}]), "spec.ports[0].port", id="port"),
        pytest.param(with_spec(ports=[{"port": 1, "name": "A"}]), "spec.ports[0].name", id="name"),
        pytest.param(
            with_spec(resources={"limits": {"cpu": "fast"}}), "spec.resources.limits.cpu", id="cpu"
        ),
        pytest.param({**SEED, "spec": {"image": "x"}}, "spec.replicas", id="no replicas"),
        pytest.param({**SEED, "spec": {"replicas": 1}}, "spec.image", id="no image"),
        pytest.param({**SEED, "status": {"phase": "Gone"}}, "status.phase", id="phase"),
    ],
)
def test_wrong_fields_are_named(document: dict[str, Any], field: str) -> None:
    assert field in problems(document)


def test_defaults_are_filled_in() -> None:
    document = with_spec(ports=[{"port": 80}])
    del document["spec"]["strategy"]
    compile_schema(crd.build_schema(Application)).default(document)
    assert document["spec"]["strategy"] == "RollingUpdate"
    assert document["spec"]["runPolicy"] == "Always"
    assert document["spec"]["ports"] == [{"port": 80, "protocol": "TCP"}]


def test_a_count_of_zero_is_written() -> None:
    app = decode(Application, json.dumps({**SEED, "status": {"phase": "Pending"}}).encode())
    assert to_builtins(app)["status"] == {"replicas": 0, "readyReplicas": 0, "phase": "Pending"}
