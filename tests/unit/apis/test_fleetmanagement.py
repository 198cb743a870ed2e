import json
from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection, Pipeline
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object, decode, to_builtins
from quarterdeck.meta.structural import compile_schema

PIPELINE: dict[str, Any] = {
    "apiVersion": "fleetmanagement.grafana.com/v1alpha1",
    "kind": "Pipeline",
    "metadata": {"name": "pipeline-sample", "labels": {"app.kubernetes.io/name": "fleet"}},
    "spec": {
        "name": "pipeline_sample",
        "contents": 'prometheus.exporter.self "alloy" { }\n',
        "matchers": ["collector.os=linux", "environment=production"],
        "configType": "OpenTelemetryCollector",
        "source": {"type": "Git", "namespace": "example.com/alloy-configs"},
    },
    "status": {
        "id": "12",
        "observedGeneration": 1,
        "createdAt": "2026-01-02T03:04:05Z",
        "updatedAt": "2026-01-02T03:04:05Z",
        "revisionId": "3",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Synced",
                "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
                "observedGeneration": 1,
            }
        ],
    },
}
CONNECTION: dict[str, Any] = {
    "apiVersion": "fleetmanagement.grafana.com/v1alpha1",
    "kind": "FleetConnection",
    "metadata": {"name": "cloud"},
    "spec": {
        "url": "https://fleet.example.com/pipeline.v1.PipelineService/",
        "secretRef": {"name": "fleet-management-credentials"},
    },
}


def problems(kind: type[Object], document: dict[str, Any]) -> list[str]:
    return [error.field for error in compile_schema(crd.build_schema(kind)).validate(document)]


def pipeline(**members: Any) -> dict[str, Any]:
    return {**PIPELINE, "spec": {**PIPELINE["spec"], **members}}


def connection(**members: Any) -> dict[str, Any]:
    return {**CONNECTION, "spec": {**CONNECTION["spec"], **members}}


def test_existing_manifests_are_accepted_unchanged() -> None:
    assert problems(Pipeline, PIPELINE) == []
    assert to_builtins(decode(Pipeline, json.dumps(PIPELINE).encode())) == PIPELINE
    assert problems(FleetConnection, CONNECTION) == []
    assert to_builtins(decode(FleetConnection, json.dumps(CONNECTION).encode())) == CONNECTION


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param(pipeline(contents=""), "spec.contents", id="empty contents"),
        pytest.param(pipeline(contents="x" * (1024 * 1024 + 1)), "spec.contents", id="too large"),
        pytest.param(pipeline(matchers=["a=b"] * 101), "spec.matchers", id="101 matchers"),
        pytest.param(pipeline(matchers=[""]), "spec.matchers[0]", id="empty matcher"),
        pytest.param(pipeline(matchers=["a=" + "b" * 199]), "spec.matchers[0]", id="long matcher"),
        pytest.param(pipeline(configType="Fluent"), "spec.configType", id="config type"),
        pytest.param(pipeline(source={"type": "Svn"}), "spec.source.type", id="source"),
        pytest.param(pipeline(adoptionPolicy="Maybe"), "spec.adoptionPolicy", id="adoption"),
        pytest.param(pipeline(deletionPolicy="Keep"), "spec.deletionPolicy", id="deletion"),
        pytest.param(pipeline(driftPolicy="Panic"), "spec.driftPolicy", id="drift"),
        pytest.param(pipeline(enabled="yes"), "spec.enabled", id="enabled"),
        pytest.param(
            pipeline(contentsFrom={"configMapKeyRef": {"name": "a"}}),
            "spec.contentsFrom.configMapKeyRef.key",
            id="reference without key",
        ),
    ],
)
def test_wrong_fields_of_a_pipeline_are_named(document: dict[str, Any], field: str) -> None:
    assert field in problems(Pipeline, document)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param(connection(url="ftp://x"), "spec.url", id="scheme"),
        pytest.param(connection(url="https:///path"), "spec.url", id="no host"),
        pytest.param(connection(syncInterval="soon"), "spec.syncInterval", id="interval"),
        pytest.param(
            connection(rateLimit={"requestsPerSecond": 0}),
            "spec.rateLimit.requestsPerSecond",
            id="rate",
        ),
        pytest.param(connection(secretRef={}), "spec.secretRef.name", id="secret without name"),
    ],
)
def test_wrong_fields_of_a_connection_are_named(document: dict[str, Any], field: str) -> None:
    assert field in problems(FleetConnection, document)


def test_defaults_are_filled_in() -> None:
    document = {**PIPELINE, "spec": {"contents": "x", "source": {}}}
    compile_schema(crd.build_schema(Pipeline)).default(document)
    assert document["spec"] == {
        "contents": "x",
        "source": {"type": "Unspecified"},
        "revisionHistoryLimit": 10,
        "enabled": True,
        "configType": "Alloy",
        "adoptionPolicy": "Never",
        "deletionPolicy": "Delete",
        "driftPolicy": "Correct",
        "otelIsolation": "None",
    }
    other = json.loads(json.dumps(CONNECTION))
    compile_schema(crd.build_schema(FleetConnection)).default(other)
    assert other["spec"]["rateLimit"] == {"requestsPerSecond": 3, "burst": 3}
    assert other["spec"]["secretRef"]["passwordKey"] == "password"


def test_the_types_have_the_same_defaults_as_the_schema() -> None:
    spec = decode(Pipeline, b'{"spec":{"contents":"x"}}').spec
    assert spec.enabled
    assert spec.config_type == "Alloy"
    assert decode(FleetConnection, b'{"spec":{}}').spec.rate_limit.requests_per_second == 3


def test_columns_are_those_users_know() -> None:
    shown = [column.name for column in Pipeline.KIND.columns if not column.priority]
    assert shown == ["Enabled", "ConfigType", "Fleet ID", "Ready", "Age"]
    assert Pipeline.KIND.short_names == ("fmp",)
