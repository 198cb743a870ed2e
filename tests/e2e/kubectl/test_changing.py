"""apply, diff, edit, patch, replace, label, annotate, set, scale and kustomize."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: conf, labels: {set: one}}
data: {k: v}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {set: one}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
"""
BOTH = f"{CONFIG}---{DEPLOYMENT}"
CHANGED = BOTH.replace("k: v", "k: w").replace("nginx:1", "nginx:2")
IMAGE = "jsonpath={.spec.template.spec.containers[0].image}"


def test_client_side_apply_creates_and_changes_objects(kubectl: Any) -> None:
    assert "+  k: v" in kubectl("diff", "-f", "-", text=BOTH, code=1)
    assert kubectl("apply", "-f", "-", text=BOTH) == (
        "configmap/conf created\ndeployment.apps/web created\n"
    )
    assert kubectl("apply", "-f", "-", text=BOTH) == (
        "configmap/conf unchanged\ndeployment.apps/web unchanged\n"
    )
    assert kubectl("diff", "-f", "-", text=BOTH) == ""
    diff = kubectl("diff", "-f", "-", text=CHANGED, code=1)
    assert "-  k: v\n+  k: w" in diff
    assert "-      - image: nginx:1\n+      - image: nginx:2" in diff
    dry = kubectl("apply", "-f", "-", "--dry-run=server", text=CHANGED)
    assert dry.count("configured (server dry run)") == 2
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data.k}") == "v"
    assert kubectl("apply", "-f", "-", text=CHANGED).count("configured") == 2
    assert kubectl("get", "deploy", "web", "-o", IMAGE) == "nginx:2"
    without = CHANGED.replace("data: {k: w}", "data: {other: x}")
    kubectl("apply", "-f", "-", text=without)
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data}") == '{"other":"x"}'
    assert "other: x" in kubectl("apply", "view-last-applied", "cm/conf")
    refused = kubectl("apply", "-f", "-", text=CONFIG.replace("\ndata:", "\ndota:"), code=1)
    assert 'unknown field "dota"' in refused


def test_server_side_apply_owns_fields_and_names_conflicts(kubectl: Any) -> None:
    served = kubectl("apply", "--server-side", "-f", "-", text=BOTH)
    assert served == "configmap/conf serverside-applied\ndeployment.apps/web serverside-applied\n"
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl(*other, text=CHANGED, code=1)
    assert 'conflict with "kubectl": .data.k' in refused
    image = '.spec.template.spec.containers[name="c"].image'
    assert f'conflict with "kubectl": {image}' in refused
    kubectl(*other, "--force-conflicts", text=CHANGED)
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data.k}") == "w"
    fields = kubectl("get", "cm", "conf", "--show-managed-fields", "-o", "yaml")
    assert "manager: other" in fields
    assert "operation: Apply" in fields
    diff = kubectl("diff", "--server-side", "--field-manager=other", "-f", "-", text=BOTH, code=1)
    assert "+  k: v" in diff


def test_objects_move_from_client_side_to_server_side_apply(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=BOTH)
    kubectl("apply", "--server-side", "-f", "-", text=CHANGED)
    managers = kubectl("get", "cm", "conf", "-o", "jsonpath={.metadata.managedFields[*].manager}")
    assert set(managers.split()) == {"kubectl", "kubectl-last-applied"}


def test_apply_prunes_objects_that_left_the_manifests(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=BOTH)
    allowed = ("--prune-allowlist=core/v1/ConfigMap", "--prune-allowlist=apps/v1/Deployment")
    pruned = kubectl("apply", "--prune", "-l", "set=one", *allowed, "-f", "-", text=CONFIG)
    assert pruned == "configmap/conf unchanged\ndeployment.apps/web pruned\n"
    assert "NotFound" in kubectl("get", "deploy", "web", code=1)


def test_apply_sets_prune_their_members(kubectl: Any) -> None:
    namespace = kubectl("get", "cm", "-o", "jsonpath={.items[0].metadata.namespace}")
    command = ("apply", "--prune", "--applyset=mine", "-n", namespace, "-f", "-")
    kubectl(*command, text=BOTH, KUBECTL_APPLYSET="true")
    pruned = kubectl(*command, text=CONFIG, KUBECTL_APPLYSET="true")
    assert "deployment.apps/web pruned" in pruned
    assert kubectl("get", "secret", "mine", "-o", "name") == "secret/mine\n"


def test_an_edit_is_stored(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=BOTH)
    edited = kubectl("edit", "cm", "conf", EDITOR="sed -i s/k:.v/k:\\ edited/")
    assert edited == "configmap/conf edited\n"
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data.k}") == "edited"
    cancelled = kubectl.warned("edit", "cm", "conf", EDITOR="true")
    assert cancelled == "Edit cancelled, no changes made.\n"
    wrong = kubectl("edit", "deploy", "web", EDITOR="sed -i s/replicas:.1/replicas:\\ x/", code=1)
    assert 'error: deployments.apps "web" is invalid' in wrong


def test_all_four_kinds_of_patches_are_applied(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=BOTH)
    strategic = '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"i"}]}}}}'
    assert kubectl("patch", "deploy", "web", "-p", strategic) == "deployment.apps/web patched\n"
    names = "jsonpath={.spec.template.spec.containers[*].name}"
    assert set(kubectl("get", "deploy", "web", "-o", names).split()) == {"c", "d"}
    merge = '{"data":{"k":null,"m":"1"}}'
    kubectl("patch", "cm", "conf", "--type=merge", "-p", merge)
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data}") == '{"m":"1"}'
    added = '[{"op":"add","path":"/data/j","value":"2"},{"op":"remove","path":"/data/m"}]'
    kubectl("patch", "cm", "conf", "--type=json", "-p", added)
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data}") == '{"j":"2"}'
    failing = '[{"op":"test","path":"/data/j","value":"3"}]'
    refused = kubectl("patch", "cm", "conf", "--type=json", "-p", failing, code=1)
    assert "the server rejected our request due to an error in our request" in refused
    scale = ("--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":3}}')
    assert kubectl("patch", "deploy", "web", *scale) == "scale.autoscaling/web patched\n"
    immutable = '{"spec":{"selector":{"matchLabels":{"x":"y"}}}}'
    refused = kubectl("patch", "deploy", "web", "-p", immutable, code=1)
    assert "field is immutable" in refused
    assert kubectl("patch", "cm", "conf", "-p", "{}") == "configmap/conf patched (no change)\n"


def test_replace_writes_the_whole_object(kubectl: Any) -> None:
    kubectl("create", "-f", "-", text=CONFIG)
    uid = kubectl("get", "cm", "conf", "-o", "jsonpath={.metadata.uid}")
    changed = CONFIG.replace("k: v", "k: replaced")
    assert kubectl("replace", "-f", "-", text=changed) == "configmap/conf replaced\n"
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data.k} {.metadata.uid}") == (
        f"replaced {uid}"
    )
    forced = kubectl("replace", "--force", "-f", "-", text=CONFIG)
    assert forced == 'configmap "conf" deleted\nconfigmap/conf replaced\n'
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.metadata.uid}") != uid
    assert "NotFound" in kubectl(
        "replace", "-f", "-", text=CONFIG.replace("name: conf", "name: other"), code=1
    )


def test_labels_and_annotations_are_set_and_removed(kubectl: Any) -> None:
    kubectl("create", "-f", "-", text=CONFIG)
    assert kubectl("label", "cm", "conf", "a=b") == "configmap/conf labeled\n"
    assert "already has a value (b)" in kubectl("label", "cm", "conf", "a=c", code=1)
    assert kubectl("label", "cm", "conf", "a=c", "--overwrite") == "configmap/conf labeled\n"
    assert kubectl("label", "cm", "conf", "a-") == "configmap/conf unlabeled\n"
    assert kubectl("annotate", "cm", "conf", "note=hi there") == "configmap/conf annotated\n"
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.metadata.annotations.note}") == (
        "hi there"
    )
    assert "must be no more than 63" in kubectl("label", "cm", "conf", f"a={'x' * 64}", code=1)


def test_set_commands_change_the_pod_template(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    kubectl("expose", "deploy", "web", "--port=80")
    kubectl("create", "rolebinding", "rb", "--role=r", "--user=alice")
    done = {
        ("image", "deploy/web", "c=nginx:9"): "image updated",
        ("env", "deploy/web", "A=B"): "env updated",
        ("resources", "deploy/web", "--limits=cpu=1,memory=1Gi"): "resource requirements updated",
        ("serviceaccount", "deploy/web", "default"): "serviceaccount updated",
        ("selector", "svc/web", "app=other"): "selector updated",
        ("subject", "rolebinding/rb", "--user=bob"): "subjects updated",
    }
    for arguments, expected in done.items():
        assert kubectl("set", *arguments).endswith(f"{expected}\n")
    container = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "nginx:9"
    assert container["env"] == [{"name": "A", "value": "B"}]
    assert container["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}}


def test_scale_changes_the_replicas(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    assert kubectl("scale", "deploy", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deploy/web", "--timeout=240s")
    wrong = kubectl("scale", "deploy", "web", "--current-replicas=5", "--replicas=1", code=1)
    assert "Expected replicas to be 5, was 3" in wrong
    kubectl("scale", "deploy", "web", "--current-replicas=3", "--replicas=1")
    kubectl("wait", "--for=jsonpath={.status.replicas}=1", "deploy/web", "--timeout=240s")


def test_kustomizations_are_built_and_applied(kubectl: Any) -> None:
    for folder, text in {
        "base": "resources: [conf.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
        "dev": "resources: [../base]\nnamePrefix: dev-\n",
    }.items():
        (kubectl.home / folder).mkdir()
        (kubectl.home / folder / "kustomization.yaml").write_text(text)
    (kubectl.home / "base" / "conf.yaml").write_text(CONFIG)
    assert "name: dev-conf" in kubectl("kustomize", "dev")
    applied = kubectl("apply", "-k", "dev")
    assert "configmap/dev-conf created" in applied
    assert "configmap/dev-made-" in applied
    assert kubectl("diff", "-k", "dev") == ""
    assert kubectl("delete", "-k", "dev").count("deleted") == 2


WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.changing.example.com}
spec:
  group: changing.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wid], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.n}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, minimum: 1, description: How big it is.}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
WIDGET = "apiVersion: changing.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n"


def test_custom_resources_are_changed_like_built_in_ones(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=WIDGETS)
    kubectl("wait", "--for=condition=Established", "crd/widgets.changing.example.com")
    assert kubectl("apply", "-f", "-", text=WIDGET) == "widget.changing.example.com/a created\n"
    kubectl("apply", "-f", "-", text=WIDGET.replace("3", "4"))
    assert kubectl("get", "wid").split()[:4] == ["NAME", "SIZE", "a", "4"]
    assert "widget.changing.example.com/a" in kubectl("get", "all", "-o", "name")
    bad = kubectl("apply", "-f", "-", text=WIDGET.replace("3", "0"), code=1)
    assert "spec.size in body should be greater than or equal to 1" in bad
    assert "How big it is." in kubectl("explain", "widget.spec.size")
    assert "Size:  4" in kubectl("describe", "widget", "a")
    kubectl("scale", "widget", "a", "--replicas=7")
    status = ("--subresource=status", "--type=merge", "-p", '{"status":{"ready":true}}')
    kubectl("patch", "widget", "a", *status)
    kubectl("wait", "--for=jsonpath={.status.ready}=true", "widget/a", "--timeout=240s")
    strategic = kubectl("patch", "widget", "a", "-p", "{}", "--type=strategic", code=1)
    assert "application/strategic-merge-patch+json is not supported" in strategic
    assert kubectl("edit", "wid", "a", EDITOR="sed -i s/size:.7/size:\\ 8/").endswith("edited\n")
    assert kubectl("get", "wid", "a", "-o", "jsonpath={.spec.size}") == "8"
    kubectl("delete", "crd", "widgets.changing.example.com")
    assert "could not find the requested resource" in kubectl("get", "widgets", code=1)
