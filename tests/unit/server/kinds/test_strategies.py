"""Built-in kinds beyond the recorded answers: rules, defaults, tables."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.kinds.ip_families import init_ip_families
from quarterdeck.server.registry.resource import Context, Object, Resource

NOW = datetime(2026, 11, 15, 3, 0, 0, tzinfo=UTC)
HOUR_AGO = "2026-11-15T02:00:00Z"
RESOURCES = {(each.api_version, each.kind): each for each in build_builtin_resources()}


def context(**changes: Any) -> Context:
    return Context(now=NOW, random=random.Random(1), namespace="g", **changes)


def resource(api_version: str, kind: str) -> Resource:
    return RESOURCES[api_version, kind]


def made(api_version: str, kind: str, **members: Any) -> Object:
    """An object as the server would prepare it."""
    found = resource(api_version, kind)
    metadata = {"name": "x", **members.pop("metadata", {})}
    body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}
    value = found.strategy.normalize(json.loads(json.dumps(body))).value
    value["metadata"] |= {"uid": "u", "creationTimestamp": HOUR_AGO}
    if found.namespaced:
        value["metadata"]["namespace"] = "g"
    found.strategy.default(value)
    found.strategy.prepare_create(value, context())
    return value


def problems(api_version: str, kind: str, **members: Any) -> list[str]:
    value = made(api_version, kind, **members)
    return [
        str(error)
        for error in resource(api_version, kind).strategy.validate_create(value, context())
    ]


def changes(old: Object, **members: Any) -> list[str]:
    found = resource(old["apiVersion"], old["kind"])
    value = json.loads(json.dumps(old)) | json.loads(json.dumps(members))
    found.strategy.default(value)
    found.strategy.prepare_update(value, old, context())
    return [str(error) for error in found.strategy.validate_update(value, old, context())]


CONTAINER = {"name": "c", "image": "nginx"}


def pod_spec(**members: Any) -> dict[str, Any]:
    return {"containers": [CONTAINER], **members}


def container(**members: Any) -> dict[str, Any]:
    return pod_spec(containers=[{**CONTAINER, **members}])


def workload(**members: Any) -> dict[str, Any]:
    return {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()},
        **members,
    }


def test_every_resource_of_the_table_has_a_strategy_that_answers() -> None:
    for found in RESOURCES.values():
        strategy = found.strategy
        assert strategy.columns
        assert isinstance(strategy.selectable, frozenset)
        value: Object = {"metadata": {"name": "x", "creationTimestamp": HOUR_AGO}}
        assert len(strategy.build_cells(value, NOW)) == len(strategy.columns)
        assert set(strategy.get_field_values(value)) == set(strategy.selectable)


# what is wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (pod_spec(containers=[]), "spec.containers: Required value"),
        (
            pod_spec(containers=[CONTAINER, CONTAINER]),
            'spec.containers[1].name: Duplicate value: "c"',
        ),
        (
            container(ports=[{"containerPort": 70000}]),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be",
        ),
        (container(ports=[{}]), "spec.containers[0].ports[0].containerPort: Required value"),
        (
            container(imagePullPolicy="Sometimes"),
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values:'
            ' "Always", "IfNotPresent", "Never"',
        ),
        (container(env=[{"value": "x"}]), "spec.containers[0].env[0].name: Required value"),
        (
            container(env=[{"name": "A", "valueFrom": {}}]),
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of:',
        ),
        (
            container(volumeMounts=[{"name": "v", "mountPath": "/x"}]),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (container(livenessProbe={}), "spec.containers[0].livenessProbe: Required value: must"),
        (
            container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or'
            " equal to cpu limit of 1",
        ),
        (
            container(resources={"limits": {"gpu": "1"}}),
            "spec.containers[0].resources.limits[gpu]: Invalid value: gpu: must be a standard",
        ),
        (pod_spec(restartPolicy="Once"), 'spec.restartPolicy: Unsupported value: "Once"'),
        (pod_spec(dnsPolicy="Odd"), 'spec.dnsPolicy: Unsupported value: "Odd"'),
        (
            pod_spec(volumes=[{"name": "v"}, {"name": "v"}]),
            'spec.volumes[1].name: Duplicate value: "v"',
        ),
        (
            pod_spec(activeDeadlineSeconds=0),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647",
        ),
        (
            pod_spec(tolerations=[{"key": "a", "operator": "Near"}]),
            'spec.tolerations[0].operator: Unsupported value: "Near"',
        ),
        (
            pod_spec(initContainers=[{**CONTAINER, "name": "i", "livenessProbe": {}}]),
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers",
        ),
    ],
)
def test_a_pod_is_refused_with_the_place_of_the_mistake(
    spec: dict[str, Any], expected: str
) -> None:
    found = problems("v1", "Pod", spec=spec)
    assert any(text.startswith(expected) for text in found), found


KINDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("apps/v1", "Deployment", {"spec": workload(replicas=-1)}, "spec.replicas: Invalid value: -1"),
    (
        "apps/v1",
        "Deployment",
        {"spec": workload(strategy={"type": "Recreate", "rollingUpdate": {}})},
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type`",
    ),
    (
        "apps/v1",
        "Deployment",
        {"spec": workload(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})},
        "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:0,",
    ),
    (
        "apps/v1",
        "Deployment",
        {"spec": {"template": {"spec": pod_spec()}}},
        "spec.selector: Required value",
    ),
    (
        "apps/v1",
        "DaemonSet",
        {"spec": workload(selector={})},
        "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil),",
    ),
    (
        "apps/v1",
        "StatefulSet",
        {"spec": workload(podManagementPolicy="Odd")},
        "spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'",
    ),
    ("batch/v1", "Job", {"spec": {"template": {"spec": pod_spec()}}}, "spec.template.spec.restart"),
    (
        "batch/v1",
        "CronJob",
        {"spec": {"schedule": "* * * * *", "jobTemplate": {}}},
        "spec.jobTemplate.spec.template.spec.containers: Required value",
    ),
    (
        "v1",
        "Service",
        {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
        "spec.ports[0].name: Required value",
    ),
    (
        "v1",
        "Service",
        {"spec": {"ports": [{"port": 0}]}},
        "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ),
    ("v1", "Service", {"spec": {"type": "ExternalName"}}, "spec.externalName: Required value"),
    (
        "v1",
        "ConfigMap",
        {"data": {"a/b": "c"}},
        'data[a/b]: Invalid value: "a/b": a valid config key must consist of',
    ),
    ("v1", "Secret", {"type": "kubernetes.io/tls"}, "data[tls.crt]: Required value"),
    (
        "v1",
        "ResourceQuota",
        {"spec": {"hard": {"apples": "1"}}},
        "spec.hard[apples]: Invalid value: apples: must be a standard resource for quota",
    ),
    (
        "v1",
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1500m"}}},
        "spec.hard[pods]: Invalid value: resource.Quantity{i:resource.int64Amount{value:1500,"
        ' scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"1500m", Format:"DecimalSI"}:'
        " must be an integer",
    ),
    (
        "v1",
        "LimitRange",
        {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
        "spec.limits[0].min[cpu]: Invalid value: resource.Quantity{i:resource.int64Amount{value:2,"
        ' scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"2", Format:"DecimalSI"}: min'
        " value 2 is greater than max value 1",
    ),
    (
        "v1",
        "Endpoints",
        {"subsets": [{"addresses": [{"ip": "nope"}], "ports": [{"port": 80}]}]},
        'subsets[0].addresses[0].ip: Invalid value: "nope": must be a valid IP address',
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"defaultBackend": {}}},
        'spec.defaultBackend: Invalid value: "": resource or service backend is required',
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"rules": [{"host": "a.*.com"}]}},
        'spec.rules[0].host: Invalid value: "a.*.com": a wildcard DNS-1123 subdomain must start',
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}]}},
        'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR',
    ),
    (
        "apps/v1",
        "Deployment",
        {"spec": workload() | {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        "spec.selector: Invalid value: v1.LabelSelector{",
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {
            "spec": {
                "maxReplicas": 2,
                "scaleTargetRef": {"kind": "Deployment", "name": "a"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {}}}],
            }
        },
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either",
    ),
    ("v1", "PersistentVolumeClaim", {"spec": {}}, "spec.accessModes: Required value: at least 1"),
    (
        "v1",
        "PersistentVolume",
        {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
        "spec: Required value: must specify a volume type",
    ),
    ("storage.k8s.io/v1", "StorageClass", {}, "provisioner: Required value"),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {"maxReplicas": 0, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}},
        "spec.maxReplicas: Invalid value: 0: must be greater than 0",
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
        "spec: Invalid value: policy.PodDisruptionBudgetSpec{MinAvailable:(*intstr.IntOrString)(0x",
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"rules": [{"http": {"paths": [{"path": "x", "pathType": "Prefix"}]}}]}},
        'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"podSelector": {}, "ingress": [{"from": [{}]}]}},
        "spec.ingress[0].from[0]: Required value: must specify a peer",
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        {"roleRef": {"kind": "Role", "name": "r"}},
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "Robot", "name": "x"}]},
        'subjects[0].kind: Unsupported value: "Robot"',
    ),
    (
        "coordination.k8s.io/v1",
        "Lease",
        {"spec": {"leaseDurationSeconds": 0}},
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    ),
    (
        "events.k8s.io/v1",
        "Event",
        {"regarding": {"namespace": "g"}, "eventTime": "2024-01-02T03:04:05.000000Z"},
        "reportingController: Required value",
    ),
    (
        "discovery.k8s.io/v1",
        "EndpointSlice",
        {"addressType": "X", "endpoints": []},
        'addressType: Unsupported value: "X"',
    ),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        {"metadata": {"name": "system-mine"}, "value": 1},
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        {"webhooks": [{"name": "a.b.c", "clientConfig": {}}]},
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ),
    (
        "v1",
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}},
        'metadata.taints[0].effect: Unsupported value: "Odd"',
    ),
]


@pytest.mark.parametrize(
    ("api_version", "kind", "members", "expected"),
    [pytest.param(*row, id=f"{row[1]}: {row[3][:40]}") for row in KINDS],
)
def test_a_mistake_is_named(
    api_version: str, kind: str, members: dict[str, Any], expected: str
) -> None:
    found = problems(api_version, kind, **members)
    assert any(text.startswith(expected) for text in found), found


def _unchangeable() -> Iterator[tuple[Object, dict[str, Any], str]]:
    stateful = made("apps/v1", "StatefulSet", spec=workload(serviceName="s"))
    yield (
        stateful,
        {"spec": {**stateful["spec"], "serviceName": "t"}},
        "spec: Forbidden: updates to",
    )
    claim = made(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    )
    other = {**claim["spec"], "accessModes": ["ReadWriteMany"]}
    yield claim, {"spec": other}, "spec: Forbidden: spec is immutable after creation"
    job = made("batch/v1", "Job", spec={"template": {"spec": pod_spec(restartPolicy="Never")}})
    yield job, {"spec": {**job["spec"], "completions": 5}}, "spec.completions: Invalid value: 5"
    pod = made("v1", "Pod", spec=pod_spec())
    more = {**pod["spec"], "containers": [*pod["spec"]["containers"], CONTAINER]}
    yield pod, {"spec": more}, "spec.containers: Forbidden: pod updates may not add or remove"
    priority = made("scheduling.k8s.io/v1", "PriorityClass", value=1)
    yield priority, {"value": 2}, "value: Forbidden: may not be changed in an update."
    storage = made("storage.k8s.io/v1", "StorageClass", provisioner="p")
    yield storage, {"provisioner": "q"}, "provisioner: Forbidden: updates to provisioner are"
    service = made("v1", "Service", spec={"ports": [{"port": 80}], "clusterIP": "10.96.0.20"})
    service["spec"]["clusterIPs"] = ["10.96.0.20"]
    moved = {**service["spec"], "clusterIP": "10.96.0.21", "clusterIPs": ["10.96.0.21"]}
    yield service, {"spec": moved}, 'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.21"}: may'


@pytest.mark.parametrize(
    ("old", "members", "expected"),
    [pytest.param(*row, id=row[0]["kind"]) for row in _unchangeable()],
)
def test_what_may_not_change_does_not(old: Object, members: dict[str, Any], expected: str) -> None:
    found = changes(old, **members)
    assert any(text.startswith(expected) for text in found), found


def test_what_may_change_of_a_pod_does() -> None:
    pod = made("v1", "Pod", spec=pod_spec())
    spec = {**pod["spec"], "activeDeadlineSeconds": 5}
    spec["containers"] = [{**pod["spec"]["containers"][0], "image": "other"}]
    spec["tolerations"] = [{"key": "a", "operator": "Exists"}]
    assert changes(pod, spec=spec) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "members", "text"),
    [
        (
            "v1",
            "Pod",
            {"spec": container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])},
            'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when'
            " using apply",
        ),
        (
            "apps/v1",
            "Deployment",
            {"metadata": {"name": "a.b"}, "spec": workload()},
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising"
            " behavior; a DNS label is recommended: [must not contain dots]",
        ),
        (
            "v1",
            "Pod",
            {"spec": container(ports=[{"containerPort": 80}, {"containerPort": 80}])},
            "spec.containers[0].ports[1]: duplicate port definition with"
            " spec.containers[0].ports[0]",
        ),
        (
            "v1",
            "Pod",
            {"spec": container(ports=[{"containerPort": 8, "hostPort": 9}, {"containerPort": 8}])},
            "spec.containers[0].ports[1]: overlapping port definition with"
            " spec.containers[0].ports[0]",
        ),
        (
            "v1",
            "Pod",
            {"spec": container(resources={"requests": {"memory": "500m"}})},
            'spec.containers[0].resources.requests[memory]: fractional byte value "500m" is'
            " invalid, must be an integer",
        ),
        (
            "v1",
            "Pod",
            {
                "spec": pod_spec(
                    containers=[
                        {"name": "a", "image": "i"},
                        {"name": "b", "image": "i", "resources": {"requests": {"memory": "1m"}}},
                    ]
                )
            },
            'spec.containers[1].resources.requests[memory]: fractional byte value "1m" is'
            " invalid, must be an integer",
        ),
        (
            "v1",
            "Pod",
            {"spec": pod_spec(volumes=[{"name": "v", "gitRepo": {"repository": "r"}}])},
            "spec.volumes[0].gitRepo: deprecated in v1.11",
        ),
        (
            "v1",
            "Pod",
            {"spec": pod_spec(imagePullSecrets=[{}])},
            'spec.imagePullSecrets[0].name: invalid empty name ""',
        ),
        (
            "v1",
            "Pod",
            {"spec": pod_spec(terminationGracePeriodSeconds=-1)},
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will"
            " be treated as 1",
        ),
        (
            "v1",
            "PersistentVolume",
            {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning.",
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            {"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {}},
            'annotation "kubernetes.io/ingress.class" is deprecated, please use'
            " 'spec.ingressClassName' instead",
        ),
    ],
)
def test_discouraged_fields_are_warned_of(
    api_version: str, kind: str, members: dict[str, Any], text: str
) -> None:
    value = made(api_version, kind, **members)
    strategy = resource(api_version, kind).strategy
    assert list(strategy.find_warnings(value, None, context())) == [text]
    assert kind == "Ingress" or not strategy.find_warnings(value, value, context())


# defaults and derived fields ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_moving_tags_are_pulled_always(image: str, policy: str) -> None:
    pod = made("v1", "Pod", spec=container(image=image))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "Burstable",
        ),
    ],
)
def test_the_quality_of_service_follows_the_resources(
    resources: dict[str, Any], quality: str
) -> None:
    pod = made("v1", "Pod", spec=container(resources=resources))
    assert pod["status"]["qosClass"] == quality


def test_autoscalers_are_the_same_object_in_both_versions() -> None:
    target = {"kind": "Deployment", "name": "d"}
    old = made(
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50},
    )
    first = resource("autoscaling/v1", "HorizontalPodAutoscaler").strategy
    second = resource("autoscaling/v2", "HorizontalPodAutoscaler").strategy
    stored = first.to_stored(old)
    assert stored["apiVersion"] == "autoscaling/v2"
    assert stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 50
    assert second.to_served(stored) == stored
    assert first.to_served(stored)["spec"] == old["spec"]


def test_events_are_the_same_object_in_both_groups() -> None:
    event = made(
        "events.k8s.io/v1",
        "Event",
        regarding={"kind": "Pod", "name": "p", "namespace": "g"},
        note="hello",
        reason="R",
        action="A",
        type="Normal",
        reportingController="c",
        reportingInstance="i",
        eventTime="2026-11-15T02:00:00.000000Z",
    )
    strategy = resource("events.k8s.io/v1", "Event").strategy
    stored = strategy.to_stored(event)
    assert stored["involvedObject"]["name"] == "p"
    assert (stored["message"], stored["reportingComponent"]) == ("hello", "c")
    assert strategy.to_served(stored) == event
    assert strategy.get_field_values(event)["regarding.name"] == "p"


def test_a_put_that_leaves_addresses_out_keeps_them() -> None:
    before = {"clusterIP": "10.96.0.20", "clusterIPs": ["10.96.0.20"], "ipFamilies": ["IPv4"]}
    spec: Object = {"ports": [{"port": 81}]}
    assert init_ip_families(spec, before, ["IPv4"]) == []
    assert spec["clusterIP"] == "10.96.0.20"
    assert spec["clusterIPs"] == ["10.96.0.20"]


def test_a_namespace_ends_by_its_finalizers() -> None:
    namespace = made("v1", "Namespace")
    strategy = resource("v1", "Namespace").strategy
    assert strategy.begin_delete(namespace, context())
    assert namespace["status"]["phase"] == "Terminating"
    assert strategy.is_kept(namespace)
    namespace["spec"]["finalizers"] = []
    assert not strategy.is_kept(namespace)


@pytest.mark.parametrize(
    ("spec", "status", "requested", "seconds"),
    [
        ({}, {}, None, 0),
        ({"nodeName": "n"}, {"phase": "Running"}, None, 30),
        ({"nodeName": "n"}, {"phase": "Succeeded"}, None, 0),
        ({"nodeName": "n"}, {"phase": "Running"}, 5, 5),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, {}, None, 7),
        ({"nodeName": "n"}, {}, -3, 1),
    ],
)
def test_pods_get_time_to_end(
    spec: dict[str, Any], status: dict[str, Any], requested: int | None, seconds: int
) -> None:
    strategy = resource("v1", "Pod").strategy
    assert strategy.compute_grace_period({"spec": spec, "status": status}, requested) == seconds


@pytest.mark.parametrize(
    ("kind", "unconditional", "creates"),
    [
        (("coordination.k8s.io/v1", "Lease"), False, True),
        (("policy/v1", "PodDisruptionBudget"), False, False),
        (("v1", "Service"), True, True),
        (("v1", "Event"), True, True),
        (("v1", "ConfigMap"), True, False),
        (("rbac.authorization.k8s.io/v1", "ClusterRole"), True, True),
        (("node.k8s.io/v1", "RuntimeClass"), False, True),
        (("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"), False, False),
    ],
)
def test_puts_may_create_and_overwrite_as_in_kubernetes(
    kind: tuple[str, str], unconditional: bool, creates: bool
) -> None:
    strategy = RESOURCES[kind].strategy
    assert strategy.allow_unconditional_update is unconditional
    assert strategy.allow_create_on_update is creates


# tables ------------------------------------------------------------------------------------------

STATUSES: list[tuple[str, dict[str, Any], list[object]]] = [
    (
        "running",
        {
            "phase": "Running",
            "containerStatuses": [{"ready": True, "state": {"running": {}}, "restartCount": 0}],
        },
        ["x", "1/1", "Running", "0"],
    ),
    (
        "crashing",
        {
            "phase": "Running",
            "containerStatuses": [
                {
                    "ready": False,
                    "restartCount": 3,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"finishedAt": "2026-11-15T02:55:00Z"}},
                }
            ],
        },
        ["x", "0/1", "CrashLoopBackOff", "3 (5m ago)"],
    ),
    (
        "initializing",
        {
            "phase": "Pending",
            "initContainerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
        },
        ["x", "0/1", "Init:0/0", "0"],
    ),
    (
        "completed",
        {
            "phase": "Succeeded",
            "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}],
        },
        ["x", "0/1", "Completed", "0"],
    ),
    (
        "failed without words",
        {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]},
        ["x", "0/1", "ExitCode:2", "0"],
    ),
]


@pytest.mark.parametrize(
    ("status", "cells"), [pytest.param(status, cells, id=name) for name, status, cells in STATUSES]
)
def test_pods_are_summed_up_as_kubectl_does(status: dict[str, Any], cells: list[object]) -> None:
    pod = made("v1", "Pod", spec=pod_spec()) | {"status": status}
    assert list(resource("v1", "Pod").strategy.build_cells(pod, NOW))[:4] == cells


def row(api_version: str, kind: str, **members: Any) -> list[object]:
    status = members.pop("status", None)
    value = made(api_version, kind, **members)
    if status is not None:
        value["status"] = status
    return list(resource(api_version, kind).strategy.build_cells(value, NOW))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            lambda: row(
                "v1",
                "Service",
                spec={
                    "type": "NodePort",
                    "ports": [{"port": 80, "nodePort": 30080}],
                    "clusterIPs": ["10.96.0.20"],
                    "selector": {"a": "b"},
                },
            ),
            ["x", "NodePort", "10.96.0.20", "<none>", "80:30080/TCP", "60m", "a=b"],
        ),
        (
            lambda: row(
                "batch/v1",
                "Job",
                spec={"template": {"spec": pod_spec(restartPolicy="Never")}},
                status={
                    "succeeded": 1,
                    "startTime": HOUR_AGO,
                    "completionTime": "2026-11-15T02:00:30Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            )[:5],
            ["x", "Complete", "1/1", "30s", "60m"],
        ),
        (
            lambda: row("apps/v1", "DaemonSet", spec=workload(), status={"numberReady": 2})[:8],
            ["x", 0, 0, 2, 0, 0, "<none>", "60m"],
        ),
        (
            lambda: row("v1", "Node", metadata={"labels": {"node-role.kubernetes.io/worker": ""}})[
                :4
            ],
            ["x", "Unknown", "worker", "60m"],
        ),
        (
            lambda: row(
                "v1",
                "Event",
                involvedObject={"kind": "Pod", "name": "p", "namespace": "g"},
                reason="R",
                message=" m ",
                type="Normal",
                lastTimestamp=HOUR_AGO,
                source={"component": "kubelet", "host": "n"},
            ),
            ["60m", "Normal", "R", "pod/p", "", "kubelet, n", "m", "<unknown>", 1, "x"],
        ),
        (
            lambda: row(
                "v1",
                "PersistentVolumeClaim",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "volumeName": "pv",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
                status={
                    "phase": "Bound",
                    "capacity": {"storage": "2Gi"},
                    "accessModes": ["ReadWriteOnce"],
                },
            ),
            ["x", "Bound", "pv", "2Gi", "RWO", "", "<unset>", "60m", "Filesystem"],
        ),
        (
            lambda: row("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}}),
            ["x", "<none>", "60m"],
        ),
        (
            lambda: row(
                "discovery.k8s.io/v1",
                "EndpointSlice",
                addressType="IPv4",
                endpoints=[{"addresses": ["10.0.0.1", "10.0.0.2"]}],
                ports=[{"port": 80}],
            ),
            ["x", "IPv4", "80", "10.0.0.1,10.0.0.2", "60m"],
        ),
        (
            lambda: row(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                roleRef={"kind": "Role", "name": "r"},
                subjects=[
                    {"kind": "User", "name": "u"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "g"},
                ],
            ),
            ["x", "Role/r", "60m", "u", "", "g/s"],
        ),
        (
            lambda: row("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me"}),
            ["x", "me", "60m"],
        ),
    ],
)
def test_tables_show_what_kubectl_shows(cells: Any, expected: list[object]) -> None:
    assert cells() == expected
