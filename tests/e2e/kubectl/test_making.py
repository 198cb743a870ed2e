"""create from files and by generators, run, expose, tokens and rights."""

import base64
import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

GENERATED = [
    (("cm", "x", "--from-literal=a=b"), "configmap/x created"),
    (("secret", "generic", "x", "--from-literal=a=b"), "secret/x created"),
    (
        ("secret", "docker-registry", "y", "--docker-username=u", "--docker-password=p"),
        "secret/y created",
    ),
    (("sa", "x"), "serviceaccount/x created"),
    (
        ("role", "x", "--verb=get,list", "--resource=pods"),
        "role.rbac.authorization.k8s.io/x created",
    ),
    (
        ("rolebinding", "x", "--role=x", "--serviceaccount=default:x"),
        "rolebinding.rbac.authorization.k8s.io/x created",
    ),
    (("deploy", "x", "--image=i", "--replicas=2", "--port=80"), "deployment.apps/x created"),
    (("job", "x", "--image=i", "--", "echo", "hi"), "job.batch/x created"),
    (("cronjob", "x", "--image=i", "--schedule=0 0 1 1 *"), "cronjob.batch/x created"),
    (("job", "y", "--from=cronjob/x"), "job.batch/y created"),
    (("quota", "x", "--hard=pods=50,cpu=8"), "resourcequota/x created"),
    (
        ("pdb", "x", "--selector=app=x", "--min-available=1"),
        "poddisruptionbudget.policy/x created",
    ),
    (("ingress", "x", "--rule=example.com/*=x:80"), "ingress.networking.k8s.io/x created"),
    (("service", "clusterip", "a", "--tcp=80:8080"), "service/a created"),
    (("service", "nodeport", "b", "--tcp=80:8080"), "service/b created"),
    (("service", "loadbalancer", "c", "--tcp=80:8080"), "service/c created"),
    (("service", "externalname", "d", "--external-name=example.com"), "service/d created"),
]


def test_create_commands_generate_namespaced_objects(kubectl: Any) -> None:
    for arguments, expected in GENERATED:
        assert kubectl("create", *arguments) == f"{expected}\n"
    assert kubectl("get", "cm", "x", "-o", "jsonpath={.data.a}") == "b"
    assert kubectl("get", "secret", "x", "-o", "jsonpath={.data.a}") == "Yg=="
    kind = kubectl("get", "secret", "y", "-o", "jsonpath={.type}")
    assert kind == "kubernetes.io/dockerconfigjson"
    kubectl("wait", "--for=condition=complete", "job/x", "job/y", "--timeout=240s")
    services = kubectl("get", "svc")
    assert "<pending>" in services
    assert "example.com" in services


def test_create_commands_generate_cluster_scoped_objects(kubectl: Any) -> None:
    made = (
        ("clusterrole", "make-x", "--verb=get", "--resource=nodes"),
        ("clusterrolebinding", "make-x", "--clusterrole=make-x", "--user=alice"),
        ("priorityclass", "make-x", "--value=10"),
        ("ns", "make-x"),
    )
    for arguments in made:
        assert kubectl("create", *arguments).endswith("/make-x created\n")
    assert "alice" in kubectl("get", "clusterrolebinding", "make-x", "-o", "wide")
    kubectl("delete", "clusterrole,clusterrolebinding,priorityclass,ns", "make-x")
    assert "NotFound" in kubectl("get", "ns", "make-x", code=1)


def test_dry_runs_store_nothing(kubectl: Any) -> None:
    made = kubectl("create", "cm", "x", "--dry-run=server", "-o", "yaml")
    assert "uid:" in made
    assert kubectl("create", "cm", "x", "--dry-run=client") == ("configmap/x created (dry run)\n")
    assert "NotFound" in kubectl("get", "cm", "x", code=1)


def test_objects_are_created_from_files(kubectl: Any) -> None:
    (kubectl.home / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    (kubectl.home / "b.json").write_text(json.dumps(document))
    assert kubectl("create", "-f", ".", "-o", "name") == "configmap/a\nconfigmap/b\n"
    assert "AlreadyExists" in kubectl("create", "-f", "a.yaml", code=1)
    generated = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"g-"}}'
    assert kubectl("create", "-f", "-", text=generated).startswith("configmap/g-")


BAD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, x: 1}]}
"""


def test_bad_files_are_refused_in_the_words_of_kubernetes(kubectl: Any) -> None:
    refused = kubectl("create", "-f", "-", text=BAD, code=1)
    assert 'strict decoding error: unknown field "spec.containers[0].x"' in refused
    warned = kubectl.warned("create", "--validate=warn", "-f", "-", text=BAD)
    assert 'Warning: unknown field "spec.containers[0].x"' in warned
    wrong = BAD.replace("x: 1", "imagePullPolicy: Seldom").replace("name: p", "name: P_")
    invalid = kubectl("create", "-f", "-", text=wrong, code=1)
    assert 'The Pod "P_" is invalid:' in invalid
    assert "a lowercase RFC 1123 subdomain must consist of" in invalid
    assert 'spec.containers[0].imagePullPolicy: Unsupported value: "Seldom"' in invalid
    for group in ("v1", "apps/v1", "nowhere.example.com/v1"):
        unknown = f"apiVersion: {group}\nkind: Nope\nmetadata: {{name: x}}\n"
        refused = kubectl("apply", "-f", "-", text=unknown, code=1)
        assert f'no matches for kind "Nope" in version "{group}"' in refused


def test_run_expose_and_autoscale_create_their_objects(kubectl: Any) -> None:
    assert kubectl("run", "one", "--image=nginx", "--port=80", "--expose") == (
        "service/one created\npod/one created\n"
    )
    kubectl("wait", "--for=condition=Ready", "pod/one", "--timeout=240s")
    kubectl("create", "deploy", "web", "--image=nginx", "--replicas=2")
    assert kubectl("expose", "deploy", "web", "--port=80", "--target-port=8080") == (
        "service/web exposed\n"
    )
    kubectl("wait", "--for=jsonpath={.subsets[0].addresses[1].ip}", "ep/web", "--timeout=240s")
    address = kubectl("get", "pod", "one", "-o", "jsonpath={.status.podIP}")
    assert f"{address}:80" in kubectl("get", "ep", "one")
    scaler = kubectl("autoscale", "deploy", "web", "--min=1", "--max=4", "--cpu-percent=70")
    assert scaler == "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    assert "Deployment/web" in kubectl("get", "hpa", "web")


def test_tokens_name_their_account(kubectl: Any) -> None:
    kubectl("create", "sa", "robot")
    token = kubectl("create", "token", "robot", "--duration=15m", "--audience=https://example.com")
    claims = token.split(".")[1]
    found = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert found["sub"].endswith(":robot")
    assert found["aud"] == ["https://example.com"]
    assert found["exp"] - found["iat"] == 900
    kubectl("run", "p", "--image=i", '--overrides={"spec":{"serviceAccountName":"robot"}}')
    bound = ("--bound-object-kind=Pod", "--bound-object-name=p")
    assert kubectl("create", "token", "robot", *bound).count(".") == 2
    short = kubectl("create", "token", "robot", "--duration=10s", code=1)
    assert "may not specify a duration less than 10 minutes" in short
    assert 'serviceaccounts "nobody" not found' in kubectl("create", "token", "nobody", code=1)


def test_tokens_authenticate(kubectl: Any) -> None:
    kubectl("create", "sa", "robot")
    token = kubectl("create", "token", "robot").strip()
    kubectl("config", "set-credentials", "robot", f"--token={token}")
    kubectl("config", "set-context", "--current", "--user=robot")
    whoami = kubectl("auth", "whoami")
    assert ":robot" in whoami
    assert "system:serviceaccounts" in whoami
    assert "is forbidden" in kubectl("get", "pods", code=1)
    assert kubectl("get", "--raw", "/version").startswith("{")


def test_auth_can_i_answers_by_role(kubectl: Any) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert kubectl("auth", "can-i", "*", "*") == "yes\n"
    assert kubectl("auth", "can-i", "get", "pods", "--as=bob", code=1).startswith("no")
    assert "*.*" in kubectl("auth", "can-i", "--list")
    whoami = kubectl("auth", "whoami")
    assert "kubernetes-admin" in whoami
    assert "system:masters" in whoami
    refused = kubectl("get", "pods", "--as=bob", code=1)
    assert 'User "bob" cannot list resource "pods" in API group ""' in refused
