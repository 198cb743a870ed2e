"""Nodes, evictions, the proxy, kubeconfigs, and what no container can answer."""

import json
import subprocess
import urllib.request
from typing import Any

import pytest

pytestmark = pytest.mark.slow

NODE = "quarterdeck-node-0"
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def test_nodes_are_tainted_and_cordoned(kubectl: Any) -> None:
    assert kubectl("taint", "node", NODE, "a=b:NoSchedule") == f"node/{NODE} tainted\n"
    kubectl("run", "tainted", "--image=i")
    kubectl(
        "wait", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", "pod/tainted",
        "--timeout=240s",
    )  # fmt: skip
    assert kubectl("taint", "node", NODE, "a-") == f"node/{NODE} untainted\n"
    kubectl("wait", "--for=condition=Ready", "pod/tainted", "--timeout=240s")
    assert kubectl("cordon", NODE) == f"node/{NODE} cordoned\n"
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", NODE)
    assert kubectl("cordon", NODE) == f"node/{NODE} already cordoned\n"
    assert kubectl("uncordon", NODE) == f"node/{NODE} uncordoned\n"
    assert "SchedulingDisabled" not in kubectl("get", "node", NODE)


def _read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """What a command has printed, up to the line with these words."""
    text = ""
    assert process.stdout is not None
    for line in process.stdout:
        text += line
        if words in line:
            return text
    raise AssertionError(f"it ended without {words!r}: {text}")


def test_drains_respect_budgets(kubectl: Any) -> None:
    kubectl("create", "deploy", "web", "--image=i", "--replicas=2")
    kubectl("rollout", "status", "deploy/web", "--timeout=240s")
    kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=2")
    kubectl("wait", "--for=jsonpath={.status.expectedPods}=2", "pdb/web", "--timeout=240s")
    drain = ("drain", NODE, "--ignore-daemonsets", "--force", "--pod-selector=app=web")
    with kubectl.running(*drain, "--dry-run=server", "--timeout=240s") as dry:
        _read_until(dry, REFUSED)
    with kubectl.running(*drain, "--timeout=240s") as process:
        text = _read_until(process, REFUSED)
        kubectl("patch", "pdb", "web", "-p", '{"spec":{"minAvailable":0}}')
        text += process.stdout.read()
    assert text.count(" evicted\n") == 2
    assert f"node/{NODE} drained" in text
    for _ in range(100):  # what replaces them is made after they are gone
        pending = kubectl("get", "pods", "--field-selector=status.phase=Pending", "-o", "name")
        if len(pending.split()) == 2:
            break
    assert len(pending.split()) == 2
    kubectl("uncordon", NODE)
    kubectl("rollout", "status", "deploy/web", "--timeout=240s")


def test_what_needs_a_container_is_refused_clearly(kubectl: Any) -> None:
    kubectl("run", "p", "--image=i")
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=240s")
    for arguments, part in (
        (("exec", "p", "--", "ls"), "pods/exec"),
        (("attach", "p"), "pods/attach"),
        (("port-forward", "p", ":80"), "pods/portforward"),
    ):
        refused = kubectl(*arguments, code=1)
        assert (
            f"{part} is not supported: this API server has no kubelet and runs no containers"
            in refused
        )
    assert "Metrics API not available" in kubectl("top", "pod", code=1)
    assert "Metrics API not available" in kubectl("top", "node", code=1)


def test_debug_adds_an_ephemeral_container(kubectl: Any) -> None:
    kubectl("run", "p", "--image=i")
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=240s")
    kubectl("debug", "p", "--image=tools", "--attach=false", "--profile=general", "-c", "dbg")
    path = "jsonpath={.spec.ephemeralContainers[0].name}"
    assert kubectl("get", "pod", "p", "-o", path) == "dbg"


def test_proxy_passes_requests_on(kubectl: Any) -> None:
    with kubectl.running("proxy", "--port=0") as process:
        address = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"http://{address}/api/v1/nodes/{NODE}") as answer:
            assert json.load(answer)["metadata"]["name"] == NODE


def test_config_commands_change_the_kubeconfig(kubectl: Any) -> None:
    assert kubectl("config", "current-context") == "quarterdeck\n"
    assert kubectl("config", "get-contexts", "-o", "name") == "quarterdeck\n"
    assert "DATA+OMITTED" in kubectl("config", "view")
    kubectl("config", "set-context", "--current", "--namespace=kube-system")
    assert "kube-root-ca.crt" in kubectl("get", "cm")
    kubectl("config", "set-context", "other", "--cluster=quarterdeck", "--user=quarterdeck")
    kubectl("config", "use-context", "other")
    kubectl("create", "cm", "in-default")
    assert kubectl("get", "cm", "in-default", "-n", "default", "-o", "name")
    kubectl("delete", "cm", "in-default")


def test_logs_of_a_simulated_pod_are_printed(kubectl: Any) -> None:
    note = {"metadata": {"annotations": {"simulate.quarterdeck.dev/logs": "one {pod}\ntwo"}}}
    kubectl("run", "p", "--image=i", f"--overrides={json.dumps(note)}")
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=240s")
    assert kubectl("logs", "p") == "one p\ntwo\n"
    assert kubectl("logs", "p", "--tail=1", "--prefix") == "[pod/p/p] two\n"
    follow = kubectl("logs", "p", "-f", "--limit-bytes=5")
    assert follow == "one p"
    refused = kubectl("logs", "p", "--previous", code=1)
    assert 'previous terminated container "p" in pod "p" not found' in refused
    assert "container none is not valid for pod p" in kubectl("logs", "p", "-c", "none", code=1)
