"""The FlowSchemas and PriorityLevelConfigurations that Kubernetes 1.32 creates at start.

They have no effect: the server limits requests by `filters.fairness`. Clients, dashboards and
conformance tests expect them to exist.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.system_objects.objects import create_missing
from quarterdeck.storage import Ticket

API_VERSION = "flowcontrol.apiserver.k8s.io/v1"
LEVELS = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"
_ANNOTATIONS = {"apf.kubernetes.io/autoupdate-spec": "true"}
_ALL = ("*",)
_BY_USER, _BY_NAMESPACE = "ByUser", "ByNamespace"
_LEASES = "coordination.k8s.io"


class _Level(NamedTuple):
    """A priority level with queues: its shares, the lendable percentage, and its queues."""

    shares: int
    lendable_percent: int
    queues: int
    hand_size: int = 6


_QUEUED = {
    "global-default": _Level(20, 50, 128),
    "leader-election": _Level(10, 0, 16, 4),
    "node-high": _Level(40, 25, 64),
    "system": _Level(30, 33, 64),
    "workload-high": _Level(40, 50, 128),
    "workload-low": _Level(100, 90, 128),
}


class _Schema(NamedTuple):
    """A flow schema of a priority level; without rules it matches all requests of its subjects."""

    level: str
    precedence: int
    distinguisher: str
    subjects: Sequence[Object]
    resource_rules: Sequence[Object] | None = None
    non_resource_rules: Sequence[Object] | None = None


def _build_groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _build_users(*names: str) -> list[Object]:
    return [{"kind": "User", "user": {"name": name}} for name in names]


def _build_accounts(*names: str) -> list[Object]:
    """Build subjects that are service accounts of the system."""
    return [
        {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": name}}
        for name in names
    ]


def _build_resource_rule(
    verbs: Sequence[str],
    groups: Sequence[str],
    resources: Sequence[str],
    *,
    has_cluster_scope: bool = False,
) -> Object:
    rule: Object = {"verbs": [*verbs], "apiGroups": [*groups], "resources": [*resources]}
    if has_cluster_scope:
        rule["clusterScope"] = True
    return {**rule, "namespaces": ["*"]}


_EVERYBODY = _build_groups("system:unauthenticated", "system:authenticated")
_NODES = _build_groups("system:nodes")
_SYSTEM_ACCOUNTS = _build_accounts("*")
_MANAGER, _SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"
_LEASE_VERBS = ("get", "create", "update")
_PROBES: list[Object] = [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]
_EVERY_RESOURCE = [_build_resource_rule(_ALL, _ALL, _ALL, has_cluster_scope=True)]
_EVERY_PATH: list[Object] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]

_SCHEMAS = {
    "exempt": _Schema("exempt", 1, "", _build_groups("system:masters")),
    "probes": _Schema("exempt", 2, "", _EVERYBODY, (), _PROBES),
    "system-leader-election": _Schema(
        "leader-election",
        100,
        _BY_USER,
        [*_build_users(_MANAGER, _SCHEDULER), *_SYSTEM_ACCOUNTS],
        [_build_resource_rule(_LEASE_VERBS, (_LEASES,), ("leases",))],
        (),
    ),
    "endpoint-controller": _Schema(
        "workload-high",
        150,
        _BY_USER,
        [
            *_build_users(_MANAGER),
            *_build_accounts("endpoint-controller", "endpointslicemirroring-controller"),
        ],
        [_build_resource_rule(_LEASE_VERBS, ("",), ("endpoints",))],
        (),
    ),
    "workload-leader-election": _Schema(
        "leader-election",
        200,
        _BY_USER,
        _SYSTEM_ACCOUNTS,
        [
            _build_resource_rule(_LEASE_VERBS, ("",), ("endpoints", "configmaps")),
            _build_resource_rule(_LEASE_VERBS, (_LEASES,), ("leases",)),
        ],
        (),
    ),
    "system-node-high": _Schema(
        "node-high",
        400,
        _BY_USER,
        _NODES,
        [
            _build_resource_rule(_ALL, ("",), ("nodes", "nodes/status"), has_cluster_scope=True),
            _build_resource_rule(_ALL, (_LEASES,), ("leases",)),
        ],
        (),
    ),
    "system-nodes": _Schema("system", 500, _BY_USER, _NODES),
    "kube-controller-manager": _Schema("workload-high", 800, _BY_NAMESPACE, _build_users(_MANAGER)),
    "kube-scheduler": _Schema("workload-high", 800, _BY_NAMESPACE, _build_users(_SCHEDULER)),
    "kube-system-service-accounts": _Schema("workload-high", 900, _BY_NAMESPACE, _SYSTEM_ACCOUNTS),
    "service-accounts": _Schema(
        "workload-low", 9000, _BY_USER, _build_groups("system:serviceaccounts")
    ),
    "global-default": _Schema("global-default", 9900, _BY_USER, _EVERYBODY),
    "catch-all": _Schema("catch-all", 10000, _BY_USER, _EVERYBODY),
}


def reconcile(core: Core) -> list[Ticket]:
    """Create the levels and schemas that are missing."""
    schemas = _build_schemas(format_time(core.clock.now()))
    return [
        *create_missing(core, LEVELS, _build_levels()),
        *create_missing(core, SCHEMAS, schemas),
    ]


def _build_levels() -> Iterator[Object]:
    exempt = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    yield _build_level("exempt", {"type": "Exempt", "exempt": exempt})
    yield _build_limited("catch-all", 5, 0, {"type": "Reject"})
    for name, level in _QUEUED.items():
        queuing = {"queues": level.queues, "handSize": level.hand_size, "queueLengthLimit": 50}
        response = {"type": "Queue", "queuing": queuing}
        yield _build_limited(name, level.shares, level.lendable_percent, response)


def _build_limited(
    name: str, shares: int, lendable_percent: int, response: dict[str, Any]
) -> Object:
    limited = {
        "nominalConcurrencyShares": shares,
        "limitResponse": response,
        "lendablePercent": lendable_percent,
    }
    return _build_level(name, {"type": "Limited", "limited": limited})


def _build_level(name: str, spec: Object) -> Object:
    return {
        "kind": "PriorityLevelConfiguration",
        "apiVersion": API_VERSION,
        "metadata": {"name": name, "generation": 1, "annotations": _ANNOTATIONS},
        "spec": spec,
        "status": {},
    }


def _build_schemas(now: str) -> Iterator[Object]:
    for name, schema in _SCHEMAS.items():
        yield {
            "kind": "FlowSchema",
            "apiVersion": API_VERSION,
            "metadata": {"name": name, "generation": 1, "annotations": _ANNOTATIONS},
            "spec": _build_schema_spec(schema),
            "status": {"conditions": [_build_condition(schema.level, now)]},
        }


def _build_schema_spec(schema: _Schema) -> Object:
    resources, paths = schema.resource_rules, schema.non_resource_rules
    rule: Object = {"subjects": [*schema.subjects]}
    if found := _EVERY_RESOURCE if resources is None else resources:
        rule["resourceRules"] = [*found]
    if found := _EVERY_PATH if paths is None else paths:
        rule["nonResourceRules"] = [*found]
    spec: Object = {
        "priorityLevelConfiguration": {"name": schema.level},
        "matchingPrecedence": schema.precedence,
    }
    if schema.distinguisher:
        spec["distinguisherMethod"] = {"type": schema.distinguisher}
    return {**spec, "rules": [rule]}


def _build_condition(level: str, now: str) -> Object:
    return {
        "type": "Dangling",
        "status": "False",
        "lastTransitionTime": now,
        "reason": "Found",
        "message": "This FlowSchema references the PriorityLevelConfiguration object named"
        f' "{level}" and it exists',
    }
