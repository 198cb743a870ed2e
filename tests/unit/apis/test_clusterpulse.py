import json
from collections.abc import Mapping
from typing import Any

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import (
    KINDS,
    ClusterConnection,
    MetricSource,
    MonitorAccessPolicy,
    RegistryConnection,
)
from quarterdeck.app.cluster_samples import CLUSTER, POLICY, PVC_CAPACITY, REGISTRY, SAMPLES
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object, decode
from quarterdeck.meta.structural import compile_schema

BY_KIND: dict[str, type[Object]] = {kind.KIND.kind: kind for kind in KINDS}


def problems(document: Mapping[str, Any]) -> list[str]:
    schema = compile_schema(crd.build_schema(BY_KIND[document["kind"]]))
    return [error.field for error in schema.validate(json.loads(json.dumps(document)))]


def changed(document: Mapping[str, Any], *path: str | int, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document))
    place: Any = copy["spec"]
    for step in path[:-1]:
        place = place.setdefault(step, {}) if isinstance(step, str) else place[step]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["metadata"]["name"])
def test_samples_fit_their_schema(sample: Mapping[str, Any]) -> None:
    assert problems(sample) == []
    kind = BY_KIND[sample["kind"]]
    assert decode(kind, json.dumps(sample).encode()).metadata.name == sample["metadata"]["name"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (ClusterConnection, ("cc",)),
        (RegistryConnection, ("rc", "regcon")),
        (MetricSource, ("ms", "metricsrc")),
        (MonitorAccessPolicy, ("map", "policy")),
    ],
)
def test_short_names_and_columns_are_those_of_the_originals(
    kind: type[Object], names: tuple[str, ...]
) -> None:
    assert kind.KIND.short_names == names
    assert kind.KIND.is_namespaced
    assert kind.KIND.subresource_status


COLUMNS = {
    "ClusterConnection": ["Display Name", "Endpoint", "Status", "Health", "Age"],
    "RegistryConnection": [
        "Display Name",
        "Endpoint",
        "Type",
        "Available",
        "Health",
        "Response Time",
        "Age",
    ],
    "MetricSource": ["Source Kind", "Phase", "Resources", "Clusters", "Age"],
    "MonitorAccessPolicy": ["State", "Effect", "Priority", "Users", "Age"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_the_originals(kind: type[Object]) -> None:
    shown = [column.name for column in kind.KIND.columns if column.priority == 0]
    assert shown == COLUMNS[kind.KIND.kind]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param(changed(CLUSTER, "endpoint", value=""), "spec.endpoint", id="endpoint"),
        pytest.param(
            changed(CLUSTER, "monitoring", "interval", value=10),
            "spec.monitoring.interval",
            id="interval",
        ),
        pytest.param(
            changed(CLUSTER, "monitoring", "timeout", value=1),
            "spec.monitoring.timeout",
            id="timeout",
        ),
        pytest.param(
            changed(CLUSTER, "collectionMode", value="poll"), "spec.collectionMode", id="mode"
        ),
        pytest.param(
            changed(REGISTRY, "monitoring", "interval", value=29),
            "spec.monitoring.interval",
            id="registry interval",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "source", "scope", value="All"), "spec.source.scope", id="scope"
        ),
        pytest.param(changed(PVC_CAPACITY, "fields", value=[]), "spec.fields", id="no fields"),
        pytest.param(
            changed(PVC_CAPACITY, "fields", 0, "type", value="text"),
            "spec.fields[0].type",
            id="field type",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "aggregations", 0, "function", value="mode"),
            "spec.aggregations[0].function",
            id="function",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "aggregations", 0, "percentile", value=101),
            "spec.aggregations[0].percentile",
            id="percentile",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "aggregations", 1, "filter", "operator", value="like"),
            "spec.aggregations[1].filter.operator",
            id="operator",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "collection", "batchSize", value=9),
            "spec.collection.batchSize",
            id="batch",
        ),
        pytest.param(
            changed(PVC_CAPACITY, "expressionMode", value="old"), "spec.expressionMode", id="mode"
        ),
        pytest.param(
            changed(POLICY, "identity", "priority", value=0),
            "spec.identity.priority",
            id="priority",
        ),
        pytest.param(changed(POLICY, "access", "effect", value="Maybe"), "spec.access.effect"),
        pytest.param(
            changed(POLICY, "scope", "clusters", "default", value="all"),
            "spec.scope.clusters.default",
            id="default access",
        ),
        pytest.param(
            changed(
                POLICY, "scope", "clusters", "rules", 0, "selector", "matchPattern", value="x" * 257
            ),
            "spec.scope.clusters.rules[0].selector.matchPattern",
            id="long pattern",
        ),
    ],
)
def test_bad_values_are_refused_by_field(document: dict[str, Any], field: str) -> None:
    assert problems(document) == [field]


def test_defaults_are_those_of_the_originals() -> None:
    source = decode(MetricSource, json.dumps(PVC_CAPACITY).encode()).spec
    collection = source.collection
    assert (collection.interval_seconds, collection.timeout_seconds) == (120, 30)
    assert (collection.batch_size, collection.retry_attempts, collection.parallelism) == (500, 3, 3)
    assert source.fields[0].type == "string"
    assert source.computed[0].type == "float"
    assert source.rbac.filter_aggregations
    assert source.expression_mode == "standard"
    minimal = {"spec": {"endpoint": "r.example.com"}}
    registry = decode(RegistryConnection, json.dumps(minimal).encode()).spec
    assert registry.monitoring.interval == 60
    assert registry.monitoring.max_catalog_entries == 100
    assert registry.health_check_paths == ("/v2/",)
    policy = decode(MonitorAccessPolicy, json.dumps(POLICY).encode())
    assert policy.status.state == "Pending"
    assert policy.spec.scope.clusters.rules[0].resources[1].visibility == "all"
