"""Nodes, pods and what else a cluster has, as documents to create: enough to be counted wrongly.

Quantities come in every form that Kubernetes takes, pods in every phase, with init containers,
sidecars and overhead, and there are more of them than one page of a list holds.
"""

import random
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

NAMESPACES = ("shop", "payments", "kube-extras", "empty")
RUNTIME_CLASS = "sandboxed"
PODS = 620
_PHASES = ("Running", "Running", "Running", "Pending", "Succeeded", "Failed")
_CPU = ("100m", "0.25", "1", "33m", "1500m", "0.005", "7m")
_MEMORY = ("64Mi", "128974848", "129e6", "129M", "0.5Gi", "1000Ki", "1G")


def build_nodes() -> Iterator[Document]:
    """Ready, not ready, unknown and cordoned ones."""
    yield _node("control", roles=("control-plane", "master"), cpu="4", memory="16393244Ki")
    yield _node("worker-1", roles=("worker",), cpu="7910m", memory="31Gi")
    yield _node("worker-2", roles=("worker", "gpu"), cpu="15.5", memory="64e9")
    yield _node("worker-3", ready="Unknown", cpu="2", memory="8G")
    yield _node("worker-4", ready="False", cpu="2", memory="8000Mi")
    cordoned = _node("worker-5", roles=("worker",), cpu="2", memory="8192Mi")
    yield {**cordoned, "spec": {"unschedulable": True}}


def build_namespaced(seed: int = 1) -> Iterator[Document]:
    """Everything that is in namespaces, pods apart."""
    chosen = random.Random(seed)
    for number in range(9):
        yield _deployment(number, chosen)
        yield _stateful_set(number, chosen)
        yield _claim(number, chosen)
        yield _config_map(number, chosen)
    for number in range(3):
        yield _daemon_set(number, chosen)
        yield _ingress(number)
    yield _service("plain", {"type": "ClusterIP"})
    yield _service("headless", {"clusterIP": "None"})
    yield _service("node", {"type": "NodePort"})
    yield _service("balanced", {"type": "LoadBalancer"})
    yield _service("outside", {"type": "ExternalName", "externalName": "example.com", "ports": []})


def build_runtime_class() -> Document:
    """The runtime class whose overhead some pods carry."""
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": RUNTIME_CLASS},
        "handler": "sandbox",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    }


def build_pods(count: int = PODS, seed: int = 2) -> Iterator[Document]:
    """Pods on the nodes, and some that no node has taken."""
    chosen = random.Random(seed)
    for number in range(count):
        node = chosen.choice(("control", "worker-1", "worker-2", "worker-3", "worker-5", ""))
        yield _pod(number, node, chosen)


def _node(
    name: str, *, cpu: str, memory: str, roles: tuple[str, ...] = (), ready: str = "True"
) -> Document:
    offered = {"cpu": cpu, "memory": memory, "ephemeral-storage": "100Gi", "pods": "110"}
    condition = {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "set"}
    pressure = {"type": "MemoryPressure", "status": "False", "reason": "Enough", "message": ""}
    info = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {f"node-role.kubernetes.io/{role}": "" for role in roles},
        },
        "status": {
            "capacity": offered,
            "allocatable": {**offered, "pods": "100", "ephemeral-storage": "90Gi"},
            "conditions": [condition, pressure],
            "addresses": [
                {"type": "InternalIP", "address": "10.1.0.1"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                **info,
                "kubeletVersion": "v1.32.4",
                "kernelVersion": "6.1.0",
                "osImage": "Debian GNU/Linux 12",
                "containerRuntimeVersion": "containerd://1.7.0",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def _pod(number: int, node: str, chosen: random.Random) -> Document:
    spec: Document = {"containers": [_container(f"main-{i}", chosen) for i in range(1, 3)]}
    if number % 5 == 0:
        sidecar = {**_container("sidecar", chosen), "restartPolicy": "Always"}
        spec["initContainers"] = [_container("first", chosen), sidecar, _container("last", chosen)]
    if number % 7 == 0:
        spec["runtimeClassName"] = RUNTIME_CLASS
    if node:
        spec["nodeName"] = node
    phase = chosen.choice(_PHASES) if node else "Pending"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number:04}", "namespace": chosen.choice(NAMESPACES[:3])},
        "spec": spec,
        "status": {"phase": phase},
    }


def _container(name: str, chosen: random.Random) -> Document:
    requests = {"cpu": chosen.choice(_CPU), "memory": chosen.choice(_MEMORY)}
    if chosen.random() < 0.2:
        requests.pop(chosen.choice(("cpu", "memory")))
    return {"name": name, "image": "example/image:1", "resources": {"requests": requests}}


def _identify(kind: str, name: str, namespace: str, api_version: str) -> Document:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
    }


def _workload_spec(name: str) -> Document:
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": "example/image:1"}]}
    return {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }


def _deployment(number: int, chosen: random.Random) -> Document:
    name, namespace = f"deploy-{number}", chosen.choice(NAMESPACES[:3])
    spec = _workload_spec(name)
    wanted = chosen.choice((None, 0, 1, 3, 7))
    if wanted is not None:
        spec["replicas"] = wanted
    total = 1 if wanted is None else wanted
    ready = chosen.randint(0, total)
    status = {"replicas": total, "readyReplicas": ready, "availableReplicas": ready}
    status |= {"unavailableReplicas": total - ready, "updatedReplicas": total}
    return {
        **_identify("Deployment", name, namespace, "apps/v1"),
        "spec": spec,
        "status": {key: value for key, value in status.items() if value},
    }


def _stateful_set(number: int, chosen: random.Random) -> Document:
    name, total = f"stateful-{number}", chosen.choice((1, 2, 5))
    return {
        **_identify("StatefulSet", name, chosen.choice(NAMESPACES[:3]), "apps/v1"),
        "spec": {**_workload_spec(name), "serviceName": "plain", "replicas": total},
        "status": {"replicas": total, "readyReplicas": chosen.randint(0, total)},
    }


def _daemon_set(number: int, chosen: random.Random) -> Document:
    name = f"daemon-{number}"
    counts = {"desiredNumberScheduled": 5, "currentNumberScheduled": 5, "numberMisscheduled": 0}
    return {
        **_identify("DaemonSet", name, chosen.choice(NAMESPACES[:3]), "apps/v1"),
        "spec": _workload_spec(name),
        "status": {**counts, "numberReady": chosen.randint(0, 5)},
    }


def _claim(number: int, chosen: random.Random) -> Document:
    size = chosen.choice(("1Gi", "500M", "10e9", "2.5Gi"))
    storage = {"requests": {"storage": size}}
    spec: Document = {"accessModes": ["ReadWriteOnce"], "resources": storage}
    spec["storageClassName"] = chosen.choice(("fast", "slow"))
    is_bound = chosen.random() < 0.6
    bound = {"phase": "Bound", "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    return {
        **_identify("PersistentVolumeClaim", f"claim-{number}", chosen.choice(NAMESPACES), "v1"),
        "spec": spec,
        "status": bound if is_bound else {"phase": "Pending"},
    }


def _config_map(number: int, chosen: random.Random) -> Document:
    return {
        **_identify("ConfigMap", f"config-{number}", chosen.choice(NAMESPACES), "v1"),
        "data": {f"key-{each}": "value" for each in range(chosen.randint(0, 4))},
        "binaryData": {f"bytes-{each}": "AAEC" for each in range(chosen.randint(0, 2))},
    }


def _ingress(number: int) -> Document:
    host = f"shop-{number}.example.com"
    backend = {"service": {"name": "plain", "port": {"number": 80}}}
    rule = {
        "host": host,
        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
    }
    return {
        **_identify("Ingress", f"ingress-{number}", "shop", "networking.k8s.io/v1"),
        "spec": {"rules": [rule], "tls": [{"hosts": [host], "secretName": "tls"}]},
    }


def _service(name: str, spec: Document) -> Document:
    ports = {"ports": [{"port": 80}], "selector": {"app": "deploy-0"}}
    return {**_identify("Service", name, "shop", "v1"), "spec": {**ports, **spec}}
