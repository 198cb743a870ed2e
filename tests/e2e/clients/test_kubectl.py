"""kubectl, as it is, against a real server process."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: applied}
data: {k: v}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
"""
Kubectl = Callable[..., str]

pytestmark = pytest.mark.slow


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Kubectl:
    program = shutil.which("kubectl")
    if program is None:
        if "kubectl" in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", ""):
            pytest.fail("kubectl is not installed")
        pytest.skip("kubectl is not installed")
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }

    def run(*arguments: str, text: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [program, *arguments],
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done
        return done.stdout if code == 0 else done.stdout + done.stderr

    return run


def test_generators_and_tables(kubectl: Kubectl) -> None:
    assert "Server Version: v1.32.4" in kubectl("version")
    assert kubectl("create", "cm", "a", "--from-literal=x=y") == "configmap/a created\n"
    assert kubectl("get", "cm").split()[:3] == ["NAME", "DATA", "AGE"]
    kubectl("create", "secret", "generic", "s", "--from-literal=p=q")
    kubectl("create", "deploy", "web", "--image=nginx", "--replicas=2")
    assert "web    0/2" in kubectl("get", "deploy")
    assert kubectl("label", "cm", "a", "tier=web") == "configmap/a labeled\n"
    assert kubectl("get", "cm", "-l", "tier=web", "-o", "name") == "configmap/a\n"
    assert kubectl("scale", "deploy", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "3"
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert kubectl("delete", "cm", "a") == 'configmap "a" deleted\n'
    assert "NotFound" in kubectl("get", "cm", "a", code=1)


def test_apply_diff_edit_and_wait(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", text=MANIFEST) == (
        "configmap/applied created\ndeployment.apps/web created\n"
    )
    assert "unchanged" in kubectl("apply", "-f", "-", text=MANIFEST)
    changed = MANIFEST.replace("k: v", "k: w").replace("image: nginx", "image: nginx:2")
    assert "+  k: w" in kubectl("diff", "-f", "-", text=changed, code=1)
    assert "configured" in kubectl("apply", "-f", "-", text=changed)
    served = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=changed)
    assert "serverside-applied" in served
    assert "image updated" in kubectl("set", "image", "deploy/web", "c=nginx:3")
    kubectl("wait", "--for=jsonpath={.spec.replicas}=1", "deploy/web", "--timeout=10s")
    assert "FIELD: data" in kubectl("explain", "configmap.data")
    assert "unknown field" in kubectl(
        "apply", "-f", "-", text=MANIFEST.replace("\ndata:", "\ndota:"), code=1
    )
    deleted = kubectl("delete", "-f", "-", text=MANIFEST)
    assert deleted.count("deleted") == 2


def test_custom_resources_are_like_any_other(kubectl: Kubectl) -> None:
    definition = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties: {size: {type: integer, minimum: 1}}
"""
    kubectl("apply", "-f", "-", text=definition)
    kubectl("wait", "--for=condition=Established", "crd/widgets.stable.example.com")
    widget = (
        "apiVersion: stable.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n"
    )
    assert kubectl("apply", "-f", "-", text=widget) == "widget.stable.example.com/a created\n"
    assert kubectl("get", "wd").split() == ["NAME", "SIZE", "a", "3"]
    bad = kubectl("apply", "-f", "-", text=widget.replace("3", "0"), code=1)
    assert "spec.size in body should be greater than or equal to 1" in bad
    assert "size" in kubectl("explain", "widget.spec")
    assert "widget.stable.example.com/a" in kubectl("get", "all", "-o", "name")
