"""The compiled source as JSON, in the shape that readers of the store expect."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.clusterpulse.metric_source import Aggregation, AlertRule, MetricSourceSpec
from quarterdeck.engine.paths import Path, format_segments
from quarterdeck.engine.target import Target


def define(spec: MetricSourceSpec, target: Target, *, paths: Mapping[str, Path]) -> dict[str, Any]:
    """Everything but identity, time and hash; alerts only where there are any."""
    alerts = {"alerts": [_define_alert(each) for each in spec.alerts]} if spec.alerts else {}
    return {
        "source": _define_source(spec, target),
        "fields": [_define_field(spec, index, paths) for index in range(len(spec.fields))],
        "computed": [
            {"name": each.name, "expression": each.expression, "type": each.type}
            for each in spec.computed
        ],
        "aggregations": [_define_aggregation(each) for each in spec.aggregations],
        "collection": {
            "intervalSeconds": spec.collection.interval_seconds,
            "timeoutSeconds": spec.collection.timeout_seconds,
            "maxResources": spec.collection.max_resources,
            "batchSize": spec.collection.batch_size,
            "retryAttempts": spec.collection.retry_attempts,
            "parallelism": spec.collection.parallelism,
        },
        "rbac": _define_access(spec),
        **alerts,
    }


def _define_source(spec: MetricSourceSpec, target: Target) -> dict[str, Any]:
    found: dict[str, Any] = {
        "apiVersion": spec.source.api_version,
        "kind": spec.source.kind,
        "scope": spec.source.scope,
        "group": target.group,
        "version": target.version,
        "resource": target.resource,
    }
    if target.label_selector:
        found["labelSelector"] = target.label_selector
    if (chosen := spec.source.namespaces) is not None:
        found["namespaces"] = {"include": list(chosen.include), "exclude": list(chosen.exclude)}
    return found


def _define_field(spec: MetricSourceSpec, index: int, paths: Mapping[str, Path]) -> dict[str, Any]:
    field = spec.fields[index]
    found: dict[str, Any] = {
        "name": field.name,
        "path": field.path,
        "pathSegments": format_segments(paths[field.name]),
        "type": field.type,
    }
    if field.default is not None:
        found["default"] = field.default
    return found | {"index": index}


def _define_aggregation(each: Aggregation) -> dict[str, Any]:
    found: dict[str, Any] = {"name": each.name}
    if each.field:
        found["field"] = each.field
    found["function"] = each.function
    if each.filter is not None:
        found["filter"] = {
            "field": each.filter.field,
            "operator": each.filter.operator,
            "value": each.filter.value,
        }
    if each.group_by:
        found["groupBy"] = each.group_by
    if each.percentile is not None:
        found["percentile"] = each.percentile
    return found


def _define_alert(each: AlertRule) -> dict[str, Any]:
    return {
        "name": each.name,
        "expression": each.expression,
        "forSeconds": each.for_seconds,
        "severity": each.severity,
        "message": each.message,
    }


def _define_access(spec: MetricSourceSpec) -> dict[str, Any]:
    found: dict[str, Any] = {"resourceTypeName": spec.rbac.resource_type_name}
    if spec.rbac.filterable_fields:
        found["filterableFields"] = list(spec.rbac.filterable_fields)
    return found | {"filterAggregations": spec.rbac.filter_aggregations}
