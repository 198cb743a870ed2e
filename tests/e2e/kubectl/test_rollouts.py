"""rollout, wait and delete."""

import threading
from typing import Any

import pytest

pytestmark = pytest.mark.slow

IMAGE = "jsonpath={.spec.template.spec.containers[0].image}"
SETS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"""


def rolled_out(kubectl: Any, name: str) -> str:
    return str(kubectl("rollout", "status", name, "--timeout=240s"))


def test_a_deployment_is_rolled_out_and_undone(kubectl: Any) -> None:
    kubectl("create", "deploy", "web", "--image=nginx:1", "--replicas=2")
    assert "successfully rolled out" in rolled_out(kubectl, "deploy/web")
    kubectl("set", "image", "deploy/web", "nginx=nginx:2")
    kubectl("annotate", "deploy/web", "kubernetes.io/change-cause=the second")
    assert "successfully rolled out" in rolled_out(kubectl, "deploy/web")
    history = kubectl("rollout", "history", "deploy/web").split("\n")
    assert history[1].split() == ["REVISION", "CHANGE-CAUSE"]
    assert [line.split(maxsplit=1)[0] for line in history[2:4]] == ["1", "2"]
    assert "the second" in history[3]
    assert "nginx:1" in kubectl("rollout", "history", "deploy/web", "--revision=1")
    assert kubectl("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
    rolled_out(kubectl, "deploy/web")
    assert kubectl("get", "deploy", "web", "-o", IMAGE) == "nginx:1"
    kubectl("rollout", "undo", "deploy/web", "--to-revision=2")
    assert kubectl("get", "deploy", "web", "-o", IMAGE) == "nginx:2"
    assert len(kubectl("get", "rs", "-o", "name").split()) == 2


def test_rollouts_are_paused_resumed_and_restarted(kubectl: Any) -> None:
    kubectl("create", "deploy", "web", "--image=nginx:1", "--replicas=2")
    rolled_out(kubectl, "deploy/web")
    before = set(kubectl("get", "pods", "-o", "name").split())
    assert kubectl("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    kubectl("set", "image", "deploy/web", "nginx=nginx:2")
    assert "can't restart paused deployment" in kubectl("rollout", "restart", "deploy/web", code=1)
    assert set(kubectl("get", "pods", "-o", "name").split()) == before
    assert kubectl("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"
    rolled_out(kubectl, "deploy/web")
    middle = set(kubectl("get", "pods", "-l", "app=web", "-o", "name").split())
    assert kubectl("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    rolled_out(kubectl, "deploy/web")
    kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deploy/web", "--timeout=240s")
    after = set(kubectl("get", "pods", "-l", "app=web", "-o", "name").split())
    assert not after & middle
    assert not middle & before


def test_stateful_and_daemon_sets_are_rolled_out_and_undone(kubectl: Any) -> None:
    kubectl("apply", "-f", "-", text=SETS)
    assert "2 new pods have been updated" in rolled_out(kubectl, "sts/db")
    assert "successfully rolled out" in rolled_out(kubectl, "ds/agent")
    pods = set(kubectl("get", "pods", "-l", "app=db", "-o", "name").split())
    assert pods == {"pod/db-0", "pod/db-1"}
    for name, image in (("sts/db", "db:2"), ("ds/agent", "agent:2")):
        kubectl("set", "image", name, f"c={image}")
        rolled_out(kubectl, name)
        assert "2" in kubectl("rollout", "history", name).split()
        kubectl("rollout", "undo", name)
        rolled_out(kubectl, name)
        assert kubectl("get", name, "-o", IMAGE) == image.replace("2", "1")
        kubectl("rollout", "restart", name)
        rolled_out(kubectl, name)


def test_wait_returns_when_the_condition_holds(kubectl: Any) -> None:
    maker = threading.Timer(0.5, kubectl, ("create", "deploy", "web", "--image=i"))
    maker.start()
    kubectl("wait", "--for=create", "deploy/web", "--timeout=240s")
    maker.join()
    kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=240s")
    kubectl("wait", "--for=condition=Available=True", "deploy", "--all", "--timeout=240s")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=1", "deploy/web", "--timeout=240s")
    kubectl("wait", "--for=jsonpath={.status.conditions}", "deploy/web", "--timeout=240s")
    late = kubectl("wait", "--for=delete", "deploy/web", "--timeout=1s", code=1)
    assert "timed out waiting for the condition on deployments/web" in late
    deleter = threading.Timer(0.5, kubectl, ("delete", "deploy", "web"))
    deleter.start()
    kubectl("wait", "--for=delete", "deploy/web", "--timeout=240s")
    deleter.join()


def test_delete_follows_the_propagation_policy(kubectl: Any) -> None:
    for name in ("background", "foreground", "orphan"):
        kubectl("create", "deploy", name, "--image=i")
        rolled_out(kubectl, f"deploy/{name}")
        assert kubectl("delete", "deploy", name, f"--cascade={name}") == (
            f'deployment.apps "{name}" deleted\n'
        )
    for name in ("background", "foreground"):
        kubectl("wait", "--for=delete", "pod", "-l", f"app={name}", "--timeout=240s")
    owned = kubectl("get", "rs,pods", "-l", "app=orphan", "-o", "name").split()
    assert len(owned) == 2
    replica_set = kubectl.json("get", "rs", "-l", "app=orphan")["items"][0]
    assert "ownerReferences" not in replica_set["metadata"]
    kubectl("delete", "rs", "--all")
    kubectl("wait", "--for=delete", "pod", "-l", "app=orphan", "--timeout=240s")


def test_many_objects_are_deleted_and_pods_by_force(kubectl: Any) -> None:
    for name in ("a", "b", "c"):
        kubectl("run", name, "--image=i", "--labels=all=yes")
    assert kubectl("delete", "pod", "a", "--now") == 'pod "a" deleted\n'
    forced = kubectl("delete", "pod", "b", "--force", "--grace-period=0")
    assert 'pod "b" force deleted' in forced
    dry = kubectl("delete", "pod", "c", "--dry-run=server")
    assert dry == 'pod "c" deleted (server dry run)\n'
    assert kubectl("delete", "pod", "-l", "all=yes") == 'pod "c" deleted\n'
    assert kubectl("delete", "pod", "x", "--ignore-not-found") == ""
    assert "NotFound" in kubectl("delete", "pod", "x", code=1)


def test_deleting_a_namespace_takes_everything_along(kubectl: Any) -> None:
    kubectl("create", "ns", "doomed")
    kubectl("create", "deploy", "web", "--image=i", "-n", "doomed")
    kubectl("create", "cm", "conf", "-n", "doomed")
    assert kubectl("delete", "ns", "doomed") == 'namespace "doomed" deleted\n'
    assert kubectl("get", "cm,deploy,rs,pods", "-n", "doomed", "-o", "name") == ""
    refused = kubectl("create", "cm", "x", "-n", "doomed", code=1)
    assert 'namespaces "doomed" not found' in refused


def test_finalizers_hold_a_deletion(kubectl: Any) -> None:
    kubectl("create", "cm", "held")
    hold = '{"metadata":{"finalizers":["example.com/hold"]}}'
    kubectl("patch", "cm", "held", "-p", hold)
    assert kubectl("delete", "cm", "held", "--wait=false") == 'configmap "held" deleted\n'
    assert kubectl("get", "cm", "held", "-o", "jsonpath={.metadata.deletionTimestamp}")
    kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("wait", "--for=delete", "cm/held", "--timeout=240s")
