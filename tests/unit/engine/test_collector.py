"""Collections: pages in, rows and numbers out, with little kept in between."""

import json
import tracemalloc
from typing import Any

import msgspec
from tests.unit.engine.sources import NOW, aggregation, computed, field, source

from quarterdeck.apis.clusterpulse.metric_source import MetricTarget, NamespaceSelection
from quarterdeck.engine import (
    AggregationResults,
    CollectionMeta,
    Resource,
    ResourceCollection,
    compile_source,
    validate_fields,
)
from quarterdeck.engine.source import hash_spec

POD: dict[str, Any] = {
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"containers": [{"cpu": "250m"}, {"cpu": "1"}]},
}


def test_rows_have_the_shape_of_the_store() -> None:
    spec = source(
        field("cpu", ".spec.containers[*].cpu", "quantity"), computed=[computed("all", "sum(cpu)")]
    )
    (row,) = compile_source(spec).collector(now=NOW).feed([POD]).resources()
    assert json.loads(msgspec.json.encode(row)) == {
        "_id": "shop/web-1",
        "_namespace": "shop",
        "_name": "web-1",
        "_labels": {"app": "web"},
        "values": {"cpu": [0.25, 1], "all": 1.25},
    }
    node = {"metadata": {"name": "n1"}}
    (row,) = compile_source(source(field("x"))).collector(now=NOW).feed([node]).resources()
    assert json.loads(msgspec.json.encode(row)) == {
        "_id": "n1",
        "_name": "n1",
        "values": {"x": None},
    }
    assert msgspec.json.decode(msgspec.json.encode(row), type=Resource) == row


def test_documents_have_the_shape_of_the_store() -> None:
    found = ResourceCollection(
        collected_at="t",
        source_id="ns/a",
        cluster_name="c",
        resource_count=0,
        truncated=False,
        duration_ms=3,
        resources=[],
    )
    assert json.loads(msgspec.json.encode(found)) == {
        "collectedAt": "t",
        "sourceId": "ns/a",
        "clusterName": "c",
        "resourceCount": 0,
        "truncated": False,
        "durationMs": 3,
        "resources": [],
    }
    results = AggregationResults(
        computed_at="t", source_id="ns/a", duration_ms=0, values={"n": None, "by": {"a": 1}}
    )
    assert json.loads(msgspec.json.encode(results)) == {
        "computedAt": "t",
        "sourceId": "ns/a",
        "durationMs": 0,
        "values": {"n": None, "by": {"a": 1}},
    }
    meta = CollectionMeta(
        source_id="ns/a",
        cluster_name="c",
        last_collection_time="t",
        duration_ms=0,
        resource_count=0,
        truncated=False,
        error_count=0,
    )
    assert set(json.loads(msgspec.json.encode(meta))) == {
        "sourceId",
        "clusterName",
        "lastCollectionTime",
        "durationMs",
        "resourceCount",
        "truncated",
        "errorCount",
    }


def test_the_definition_has_the_shape_of_the_store() -> None:
    spec = source(
        field("cpu", ".spec.containers[0].cpu", "quantity", "0"),
        computed=[computed("milli", "cpu * 1000")],
        aggregations=[aggregation("percentile", "cpu", percentile=95, group_by="namespace")],
        target=MetricTarget(
            api_version="apps/v1", kind="Pod", namespaces=NamespaceSelection(exclude=("kube-*",))
        ),
    )
    compiled = compile_source(spec)
    defined = compiled.definition(name="a", namespace="ns", resource="pods", compiled_at="now")
    assert defined["source"] == {
        "apiVersion": "apps/v1",
        "kind": "Pod",
        "scope": "Namespaced",
        "group": "apps",
        "version": "v1",
        "resource": "pods",
        "namespaces": {"include": [], "exclude": ["kube-*"]},
    }
    assert defined["fields"] == [
        {
            "name": "cpu",
            "path": ".spec.containers[0].cpu",
            "pathSegments": ["spec", "containers", "[0]", "cpu"],
            "type": "quantity",
            "default": "0",
            "index": 0,
        }
    ]
    assert defined["computed"] == [{"name": "milli", "expression": "cpu * 1000", "type": "float"}]
    assert defined["aggregations"] == [
        {
            "name": "result",
            "field": "cpu",
            "function": "percentile",
            "groupBy": "namespace",
            "percentile": 95,
        }
    ]
    assert defined["rbac"] == {"resourceTypeName": "", "filterAggregations": True}
    assert (defined["name"], defined["namespace"]) == ("a", "ns")
    assert defined["hash"] == compiled.hash == hash_spec(spec)
    assert len(compiled.hash) == 16


def test_excluded_namespaces_do_not_use_up_the_limit() -> None:
    target = MetricTarget(
        api_version="v1", kind="Pod", namespaces=NamespaceSelection(exclude=("kube-*",))
    )
    spec = source(field("n", ".metadata.name"), target=target)
    collector = compile_source(spec).collector(now=NOW, limit=1)
    hidden = {"metadata": {"name": "a", "namespace": "kube-system"}}
    assert len(collector.feed([hidden, hidden, POD])) == 1
    assert (collector.is_full, collector.is_truncated) == (True, False)


def test_objects_can_be_grouped_by_their_namespace() -> None:
    spec = source(
        field("x"),
        computed=[computed("id", "concat(namespace, '/', name)", "string")],
        aggregations=[aggregation("count", group_by="namespace")],
    )
    collector = compile_source(spec).collector(now=NOW)
    (row,) = collector.feed([POD]).resources()
    assert row.values == {"x": None, "id": "shop/web-1"}
    assert collector.finish() == {"result": {"shop": 1}}


def test_names_of_fields_are_only_names() -> None:
    hostile = ["'); raise SystemExit #", '"', "\\", "\n", "{0}", "v0", "é\u2028", "class"]
    spec = source(*(field(name, ".metadata.name") for name in hostile))
    (row,) = compile_source(spec).collector(now=NOW).feed([POD]).resources()
    assert row.values == dict.fromkeys(hostile, "web-1")


def test_texts_in_expressions_are_only_texts() -> None:
    hostile = "'); raise SystemExit #{x}\\"
    quoted = hostile.replace("\\", "\\\\").replace('"', '\\"')
    spec = source(computed=[computed("t", f'"{quoted}" + name', "string")])
    (row,) = compile_source(spec).collector(now=NOW).feed([POD]).resources()
    assert row.values["t"] == hostile + "web-1"


def test_memory_is_flat_while_pages_stream() -> None:
    spec = source(
        field("name", ".metadata.name"),
        field("cpu", ".spec.containers[0].cpu", "quantity"),
        computed=[computed("milli", "cpu * 1000")],
        aggregations=[aggregation("sum", "milli", group_by="name")],
    )
    collector = compile_source(spec).collector(now=NOW, limit=10**9)
    page = [POD] * 500
    for _ in range(3):
        collector.feed(page).resources()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(40):
            collector.feed(page).resources()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert collector.count == 43 * 500
    assert after - before < 64 * 1024


def test_computed_values_that_are_always_null_are_doubtful() -> None:
    spec = source(field("a", ".gone", "float"), computed=[computed("b", "a * 2")])
    collector = compile_source(spec).collector(now=NOW)
    collector.feed([POD])
    found = {each.field: each for each in validate_fields(spec, (collector,))}
    assert found["b"].status == "warning"
    assert "null for every object" in found["b"].message


def test_visible_rows_are_aggregated_as_the_collection_was() -> None:
    spec = source(
        field("cpu", ".spec.containers[0].cpu", "quantity"),
        aggregations=[aggregation("sum", "cpu", group_by="namespace")],
    )
    compiled = compile_source(spec)
    collector = compiled.collector(now=NOW)
    rows = collector.feed([POD, POD]).resources()
    assert compiled.aggregate(rows) == collector.finish() == {"result": {"shop": 0.5}}
    assert compiled.aggregate(rows[:1]) == {"result": {"shop": 0.25}}
