"""get, describe, explain, events, and what says what there is."""

import json
import threading
from typing import Any

import pytest

pytestmark = pytest.mark.slow

APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {tier: back}}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {tier: front}}
data: {a: b, c: d}
"""


@pytest.fixture
def app(kubectl: Any) -> Any:
    kubectl("apply", "-f", "-", text=APP)
    kubectl("rollout", "status", "deploy/web", "--timeout=240s")
    return kubectl


def test_get_prints_every_output_format(app: Any) -> None:
    assert app.columns("deploy") == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    wide = app.columns("deploy", "-o", "wide")
    assert wide[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert app("get", "deploy", "web").split()[5:9] == ["web", "2/2", "2", "2"]
    assert app("get", "deploy", "-o", "name") == "deployment.apps/web\n"
    assert app.json("get", "deploy", "web")["status"]["readyReplicas"] == 2
    assert app.json("get", "cm")["kind"] == "List"
    assert "\nkind: ConfigMap\n" in app("get", "cm", "first", "-o", "yaml")
    assert app("get", "cm", "first", "-o", "jsonpath={.data.c}") == "d"
    assert app("get", "cm", "first", "-o", "go-template={{.data.c}}") == "d"
    columns = app("get", "cm", "first", "-o", "custom-columns=N:.metadata.name,C:.data.c")
    assert columns.split() == ["N", "C", "first", "d"]
    assert app("get", "cm", "first", "--no-headers").split()[:2] == ["first", "2"]
    assert "configmap/first" in app("get", "cm", "first", "--show-kind")
    assert "tier=front" in app("get", "cm", "first", "--show-labels")
    assert app("get", "cm", "first", "-L", "tier").split()[:4] == ["NAME", "DATA", "AGE", "TIER"]
    both = app("get", "deploy,cm", "-o", "name").split()
    assert {"deployment.apps/web", "configmap/first"} <= set(both)
    everything = app("get", "all", "-o", "name")
    assert "deployment.apps/web" in everything
    assert "replicaset.apps/web-" in everything
    assert "pod/web-" in everything


def test_get_sorts_and_selects(app: Any) -> None:
    by_name = app("get", "cm", "--sort-by=.metadata.name", "-o", "name").split()
    assert by_name == sorted(by_name)
    table = app("get", "cm", "-l", "tier", "--sort-by={.metadata.labels.tier}").split("\n")
    assert [line.split()[0] for line in table[1:3]] == ["second", "first"]
    assert app("get", "cm", "-l", "tier=front", "-o", "name") == "configmap/first\n"
    assert app("get", "cm", "-l", "tier notin (front),tier", "-o", "name") == "configmap/second\n"
    assert app("get", "cm", "-l", "!tier", "-o", "name") == "configmap/kube-root-ca.crt\n"
    named = app("get", "cm", "--field-selector=metadata.name=first", "-o", "name")
    assert named == "configmap/first\n"
    running = app("get", "pods", "--field-selector=status.phase=Running", "-o", "name")
    assert running.count("pod/web-") == 2
    assert app("get", "pods", "--field-selector=status.phase!=Running", "-o", "name") == ""
    refused = app("get", "pods", "--field-selector=spec.nope=1", code=1)
    assert "field label not supported: spec.nope" in refused
    chunks = app("get", "cm", "--chunk-size=1", "-o", "name")
    assert chunks.count("configmap/") == 3
    assert app.columns("pods", "-A")[0] == "NAMESPACE"
    assert "NotFound" in app("get", "cm", "nope", code=1)
    assert app("get", "cm", "nope", "--ignore-not-found") == ""
    assert "doesn't have a resource type" in app("get", "nope", code=1)


def test_get_reads_raw_paths_and_subresources(app: Any) -> None:
    assert app("get", "--raw", "/healthz") == "ok"
    assert "readyz check passed" in app("get", "--raw", "/readyz?verbose")
    assert json.loads(app("get", "--raw", "/version"))["gitVersion"] == "v1.32.4"
    scale = app("get", "deploy", "web", "--subresource=scale").split()
    assert scale[:7] == ["NAME", "DESIRED", "AVAILABLE", "AGE", "web", "2", "2"]
    kind = app("get", "deploy", "web", "--subresource=scale", "-o", "jsonpath={.kind}")
    assert kind == "Scale"
    assert "2/2" in app("get", "deploy", "web", "--subresource=status")


def test_watching_shows_changes_as_they_come(app: Any) -> None:
    with app.running("get", "cm", "-l", "tier=front", "-w", "-o", "name") as process:
        lines: list[str] = [process.stdout.readline()]
        app("label", "cm", "second", "tier=front", "--overwrite")
        lines.append(process.stdout.readline())
        app("delete", "cm", "first")
        lines.append(process.stdout.readline())
    assert lines == ["configmap/first\n", "configmap/second\n", "configmap/first\n"]


def test_watching_one_object_prints_a_row_per_change(app: Any) -> None:
    with app.running("get", "deploy", "web", "-w", "--output-watch-events") as process:
        head, first = process.stdout.readline().split(), process.stdout.readline().split()
        changer = threading.Thread(target=app, args=("scale", "deploy/web", "--replicas=0"))
        changer.start()
        second = process.stdout.readline().split()
        changer.join()
    assert head[:3] == ["EVENT", "NAME", "READY"]
    assert first[:2] == ["ADDED", "web"]
    assert second[:2] == ["MODIFIED", "web"]


def test_describe_prints_objects_and_their_events(app: Any) -> None:
    text = app("describe", "deploy", "web")
    assert "2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in text
    assert "NewReplicaSet:   web-" in text
    assert "Scaled up replica set web-" in text
    pod = app("describe", "pod", "-l", "app=web")
    assert pod.count("Controlled By:  ReplicaSet/web-") == 2
    assert "Successfully assigned" in pod
    assert "Started container c" in pod
    node = app("describe", "nodes")
    assert "KubeletReady" in node
    assert "Non-terminated Pods:" in node
    assert "a:\n----\nb" in app("describe", "cm", "first")
    namespace = app("get", "sa", "default", "-o", "jsonpath={.metadata.namespace}")
    assert "Status:       Active" in app("describe", "ns", namespace)


def test_events_are_one_in_both_groups(app: Any) -> None:
    head = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert app.columns("events") == head
    assert app.columns("events.events.k8s.io") == head
    wide = app.columns("events", "-o", "wide")
    assert wide[4:6] == ["SUBOBJECT", "SOURCE"]
    core = set(app("get", "events", "-o", "jsonpath={.items[*].metadata.uid}").split())
    path = "jsonpath={.items[*].metadata.uid}"
    assert core == set(app("get", "events.events.k8s.io", "-o", path).split())
    scaled = app("get", "events", "--field-selector=reason=ScalingReplicaSet", "-o", "name")
    assert scaled.count("event/") == 1
    text = app("events", "--for", "deployment/web")
    assert "ScalingReplicaSet" in text
    assert "Scheduled" not in text
    assert "Scheduled" in app("events", "--types=Normal")


def test_explain_prints_the_fields_of_kinds(app: Any) -> None:
    text = app("explain", "deployment.spec.strategy")
    assert "FIELD: strategy <DeploymentStrategy>" in text
    for what in ("pod", "pod.spec.restartPolicy", "deployment.spec.strategy"):
        assert "<empty>" not in app("explain", what).partition("FIELDS:")[0]
    assert "rollingUpdate\t<RollingUpdateDeployment>" in text
    assert "containerPort\t<integer>" in app("explain", "pod.spec.containers", "--recursive")
    assert "VERSION:    v1" in app("explain", "hpa", "--api-version=autoscaling/v1")
    missing = app("explain", "pod.nope", code=1)
    assert 'field "nope" does not exist' in missing


def test_api_resources_and_versions_are_listed(app: Any) -> None:
    resources = app("api-resources")
    assert "deployments" in resources
    assert "customresourcedefinitions" in resources
    names = app("api-resources", "--namespaced=false", "--verbs=list", "-o", "name").split()
    assert "nodes" in names
    assert "pods" not in names
    wide = app("api-resources", "--api-group=apps", "-o", "wide")
    assert "create,delete,deletecollection,get,list,patch,update,watch" in wide
    assert {"v1", "apps/v1", "batch/v1", "apiextensions.k8s.io/v1"} <= set(
        app("api-versions").split()
    )
    assert "Server Version: v1.32.4" in app("version")
    assert "Kubernetes control plane is running at" in app("cluster-info").replace("\x1b[0;32m", "")
    app("cluster-info", "dump", "--output-directory=dump")
    assert (app.home / "dump" / "nodes.json").is_file()


TABLES = {
    "cm": "NAME DATA AGE",
    "secrets": "NAME TYPE DATA AGE",
    "sa": "NAME SECRETS AGE",
    "ns": "NAME STATUS AGE",
    "nodes": "NAME STATUS ROLES AGE VERSION",
    "pods": "NAME READY STATUS RESTARTS AGE",
    "rs": "NAME DESIRED CURRENT READY AGE",
    "sts": "NAME READY AGE",
    "ds": "NAME|DESIRED|CURRENT|READY|UP-TO-DATE|AVAILABLE|NODE SELECTOR|AGE",
    "jobs": "NAME STATUS COMPLETIONS DURATION AGE",
    "cj": "NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE",
    "svc": "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE",
    "ep": "NAME ENDPOINTS AGE",
    "endpointslices": "NAME ADDRESSTYPE PORTS ENDPOINTS AGE",
    "ing": "NAME CLASS HOSTS ADDRESS PORTS AGE",
    "netpol": "NAME POD-SELECTOR AGE",
    "hpa": "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE",
    "pdb": "NAME|MIN AVAILABLE|MAX UNAVAILABLE|ALLOWED DISRUPTIONS|AGE",
    "pvc": "NAME|STATUS|VOLUME|CAPACITY|ACCESS MODES|STORAGECLASS|VOLUMEATTRIBUTESCLASS|AGE",
    "roles": "NAME|CREATED AT",
    "rolebindings": "NAME ROLE AGE",
    "leases": "NAME HOLDER AGE",
    "sc": "NAME|PROVISIONER|RECLAIMPOLICY|VOLUMEBINDINGMODE|ALLOWVOLUMEEXPANSION|AGE",
    "pc": "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY",
    "crd": "NAME|CREATED AT",
    "controllerrevisions": "NAME CONTROLLER REVISION AGE",
}
MANY = """
apiVersion: v1
kind: Secret
metadata: {name: s}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: i}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: cj}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ing}
spec:
  rules:
  - host: example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec: {podSelector: {}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: l}
spec: {holderIdentity: me}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/x
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.tables.example.com}
spec:
  group: tables.example.com
  scope: Namespaced
  names: {plural: gizmos, kind: Gizmo}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


def test_tables_have_the_columns_of_kubernetes(app: Any) -> None:
    app("apply", "-f", "-", text=MANY)
    app("rollout", "status", "sts/db", "--timeout=240s")
    app("wait", "--for=condition=complete", "job/j", "--timeout=240s")
    found = {kind: app.columns(kind) for kind in TABLES}
    expected = {
        kind: text.split("|") if "|" in text else text.split() for kind, text in TABLES.items()
    }
    assert found == expected
    app("delete", "-f", "-", "--wait=false", text=MANY)
