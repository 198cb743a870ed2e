"""The core of a day's work, with every kubectl that is installed."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TRIED = (27, 28, 29, 30, 31, 32, 33)
"""Minor versions that the reference page names; newer ones are tried where they are installed."""
_NAME = re.compile(r"kubectl\.1\.(\d+)")
APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {k: v}
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.versions.example.com}
spec:
  group: versions.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1}}}}
"""
WIDGET = "apiVersion: versions.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n"


def programs() -> Iterator[Any]:
    """kubectl itself, and the `kubectl.1.N` that some packages put beside it."""
    found = shutil.which("kubectl")
    if found is None:
        return
    versions = {}
    for path in Path(found).resolve().parent.glob("kubectl.1.*"):
        match = _NAME.fullmatch(path.name)
        if match is not None and int(match[1]) >= min(TRIED):
            versions[int(match[1])] = path
    for minor, path in sorted(versions.items()):
        yield pytest.param(path, id=f"1.{minor}")
    if not versions:
        yield pytest.param(Path(found), id="the installed one")


@pytest.mark.parametrize("program", list(programs()))
def test_the_most_used_commands_work_with_every_version(
    program: Path, server: Path, numbers: Iterator[int], enter: Any, tmp_path: Path
) -> None:
    kubectl = enter(program, server, f"test-{next(numbers)}", tmp_path)
    _deploy(kubectl)
    _change(kubectl)
    _define(kubectl)
    _generate(kubectl)


def _deploy(kubectl: Any) -> None:
    assert kubectl("apply", "-f", "-", text=APP) == (
        "deployment.apps/web created\nconfigmap/conf created\n"
    )
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=240s")
    kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=240s")
    assert kubectl("get", "deploy", "web").split()[5:9] == ["web", "2/2", "2", "2"]
    assert "ScalingReplicaSet" in kubectl("describe", "deploy", "web")
    assert "ScalingReplicaSet" in kubectl("events", "--for", "deployment/web")
    assert "strategy\t<DeploymentStrategy>" in kubectl("explain", "deploy.spec")
    assert "NAME" in kubectl("get", "all")
    assert kubectl("get", "pods", "-l", "app=web", "-o", "name").count("pod/web-") == 2


def _change(kubectl: Any) -> None:
    changed = APP.replace("nginx:1", "nginx:2").replace("k: v", "k: w")
    assert "+  k: w" in kubectl("diff", "-f", "-", text=changed, code=1)
    assert kubectl("apply", "-f", "-", text=changed).count("configured") == 2
    served = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=changed)
    assert served.count("serverside-applied") == 2
    kubectl("set", "image", "deploy/web", "c=nginx:3")
    kubectl("rollout", "undo", "deploy/web")
    kubectl("scale", "deploy", "web", "--replicas=1")
    kubectl("label", "cm", "conf", "a=b")
    kubectl("annotate", "cm", "conf", "a=b")
    kubectl("patch", "cm", "conf", "-p", '{"data":{"x":"y"}}')
    kubectl("edit", "cm", "conf", EDITOR="sed -i s/k:.w/k:\\ edited/")
    assert kubectl("get", "cm", "conf", "-o", "jsonpath={.data.k}") == "edited"
    kubectl("replace", "-f", "-", text=APP)
    refused = kubectl("apply", "-f", "-", text=APP.replace("\ndata:", "\ndota:"), code=1)
    assert 'unknown field "dota"' in refused


def _define(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=WIDGETS)
    kubectl("wait", "--for=condition=Established", "crd/widgets.versions.example.com")
    assert kubectl("apply", "-f", "-", text=WIDGET) == "widget.versions.example.com/a created\n"
    assert "configured" in kubectl("apply", "-f", "-", text=WIDGET.replace("3", "4"))
    bad = kubectl("apply", "-f", "-", text=WIDGET.replace("3", "0"), code=1)
    assert "spec.size in body should be greater than or equal to 1" in bad
    assert "size" in kubectl("explain", "widget.spec")
    unknown = kubectl("apply", "-f", "-", text=WIDGET.replace("Widget", "Gadget"), code=1)
    assert 'no matches for kind "Gadget"' in unknown


def _generate(kubectl: Any) -> None:
    kubectl("create", "job", "j", "--image=i")
    kubectl("wait", "--for=condition=complete", "job/j", "--timeout=240s")
    kubectl("create", "sa", "robot")
    assert kubectl("create", "token", "robot").count(".") == 2
    kubectl("autoscale", "deploy", "web", "--max=3")
    kubectl("expose", "deploy", "web", "--port=80")
    kubectl("run", "p", "--image=i")
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=240s")
    assert "has no kubelet and runs no containers" in kubectl("exec", "p", "--", "ls", code=1)
    assert kubectl("logs", "p").startswith("simulated container p of image i started")
    assert kubectl("delete", "-f", "-", text=APP).count(" deleted") == 2
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")
