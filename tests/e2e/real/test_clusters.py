"""A hub that watches a real cluster finds the numbers that kubectl shows."""

import json
import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import cluster_contents
import pytest
from free_ports import RUN_FREE_PORTS
from real_server import QUARTERDECK, RealServer

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

LIMIT_S = 180.0
SOURCES = ("default-deployment-health", "default-pvc-capacity")
HIDDEN = ("kube-", "openshift-")
"""Namespaces that the default sources leave out."""
SUFFIXES = {"m": "0.001", "k": "1e3", "M": "1e6", "G": "1e9"} | {
    f"{letter}i": str(1024**power) for power, letter in enumerate("KMGT", 1)
}


class Hub:
    """The clusters operator as a process, and what it keeps in Redis."""

    def __init__(self, port: int) -> None:
        self._cli = [programs.require("redis-cli"), "-p", str(port)]

    def read(self, *command: str) -> Any:
        found = subprocess.run([*self._cli, *command], capture_output=True, text=True, check=True)
        text = found.stdout.strip()
        return json.loads(text) if text else None

    def cluster(self, part: str) -> Any:
        """A part of what is known about the cluster."""
        return self.read("GET", f"cluster:real:{part}")

    def node(self, name: str) -> Any:
        """What is known about a node."""
        return self.read("HGET", f"cluster:real:node:{name}", "current")

    def source(self, name: str, part: str) -> Any:
        """What a MetricSource collected."""
        return self.cluster(f"custom:default/{name}:{part}")


def until(holds: Callable[[], object], process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline, pause = time.monotonic() + LIMIT_S, threading.Event()
    while not holds():
        text = log.read_text()[-3000:]
        assert process.poll() is None and time.monotonic() < deadline, text
        pause.wait(0.2)


@pytest.fixture(scope="module")
def hub(real: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub under the generated role, once it has read everything of a cluster full of things."""
    folder = tmp_path_factory.mktemp("hub")
    kubeconfig = real.install("--operators", "clusters")
    names = cluster_contents.NAMESPACES
    real.create(
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in names)
    )
    real.create(cluster_contents.build_runtime_class(), *cluster_contents.build_nodes())
    real.create(*cluster_contents.build_namespaced())
    real.create(*cluster_contents.build_pods())
    samples = Path(__file__).parents[3] / "config" / "samples"
    for name in SOURCES:
        real.apply((samples / f"clusterpulse_v1alpha1_metricsource_{name}.yaml").read_text())
    added = real.quarterdeck(
        *("clusters", "add", "--kubeconfig", str(real.kubeconfig), "--name", "real"),
        *("--hub-kubeconfig", str(real.kubeconfig)),
    )
    assert "the token expires at" in added  # no controller fills the Secret of the account
    port, log = programs.find_free_port(), folder / "operator.log"
    with programs.run_program(programs.build_redis_command(port), port=port, folder=folder):
        flags = (*RUN_FREE_PORTS, "--no-ingester-enabled")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*QUARTERDECK, "run", "--operators", "clusters", *flags, "--redis-port", str(port)],
                env={
                    **os.environ,
                    **{"KUBECONFIG": str(kubeconfig), "REDIS_HOST": "127.0.0.1"},
                    **{"LEASE_NAMESPACE": "quarterdeck-system", "MAX_PODS_PER_NAMESPACE": "1000"},
                },
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        found = Hub(port)
        try:
            wanted = ("metrics", "resource_metadata")
            until(lambda: all(found.cluster(part) for part in wanted), process, log)
            until(lambda: all(found.source(each, "meta") for each in SOURCES), process, log)
            yield found
        finally:
            programs.stop(process)


def parse(text: str) -> Decimal:
    """A quantity, without our own parser."""
    number, suffix = re.fullmatch(r"([-+.\deE]*?)([a-zA-Z]*)", text).groups()  # type: ignore[union-attr]
    if not number or suffix.lower() == "e":
        return Decimal(text)
    return Decimal(number) * Decimal(SUFFIXES[suffix]) if suffix else Decimal(number)


def test_totals_are_those_of_kubectl(hub: Hub, real: RealServer) -> None:
    nodes, pods = real.items("nodes"), real.items("pods", "-A")
    capacity = [each["status"]["capacity"] for each in nodes]
    found = hub.cluster("metrics")
    del found["timestamp"]
    assert found == {
        "nodes": len(nodes),
        "nodes_ready": sum(status == "Ready" for status in read_statuses(real).values()),
        "namespaces": len(real.items("namespaces")),
        "pods": len(pods),
        "pods_running": sum(each["status"]["phase"] == "Running" for each in pods),
        "cpu_capacity": float(sum(parse(each["cpu"]) for each in capacity)),
        "memory_capacity": int(sum(parse(each["memory"]) for each in capacity)),
        "deployments": len(real.items("deployments", "-A")),
    }
    assert len(pods) == cluster_contents.PODS


def read_statuses(real: RealServer) -> dict[str, str]:
    """The column STATUS of `kubectl get nodes`."""
    rows = real.kubectl("get", "nodes", "--no-headers").splitlines()
    return {row.split()[0]: row.split()[1] for row in rows}


def read_allocated(real: RealServer, node: str) -> tuple[Decimal, Decimal, int]:
    """What `kubectl describe node` says of requests, and of pods that have not ended."""
    text = real.kubectl("describe", "node", node)
    _, _, allocated = text.partition("Allocated resources:")
    cpu, memory = (re.search(rf"{kind} +(\S+) ", allocated) for kind in ("cpu", "memory"))
    count = re.search(r"Non-terminated Pods: +\((\d+) in total", text)
    assert cpu and memory and count, text
    return parse(cpu[1]), parse(memory[1]), int(count[1])


def test_nodes_are_those_of_kubectl(hub: Hub, real: RealServer) -> None:
    words = {"Ready,SchedulingDisabled": "SchedulingDisabled"}
    statuses = {name: words.get(text, text) for name, text in read_statuses(real).items()}
    for each in real.items("nodes"):
        name = each["metadata"]["name"]
        cpu, memory, alive = read_allocated(real, name)
        found = hub.node(name)
        assert found["status"] == statuses[name]
        assert (Decimal(str(found["cpu_requested"])), found["memory_requested"]) == (cpu, memory)
        assert found["pods_running"] + found["pods_pending"] == alive
        for part in ("capacity", "allocatable"):
            offered = each["status"][part]
            assert Decimal(str(found[f"cpu_{part}"])) == parse(offered["cpu"])
            assert found[f"memory_{part}"] == parse(offered["memory"])
            assert found[f"storage_{part}"] == parse(offered["ephemeral-storage"])
            assert found[f"pods_{part}"] == parse(offered["pods"])
        phases = Counter(
            pod["status"]["phase"]
            for pod in real.items("pods", "-A", "--field-selector", f"spec.nodeName={name}")
        )
        for phase in ("Running", "Pending", "Succeeded", "Failed"):
            assert found[f"pods_{phase.lower()}"] == phases[phase]
        taints = [(one["key"], one["effect"]) for one in each["spec"].get("taints", ())]
        assert [(one["key"], one["effect"]) for one in found["taints"]] == taints


def test_lists_are_those_of_kubectl(hub: Hub, real: RealServer) -> None:
    def names(kind: str, *flags: str) -> list[tuple[str, str]]:
        found = (each["metadata"] for each in real.items(kind, "-A", *flags))
        return [(each["namespace"], each["name"]) for each in found]

    alive = ("--field-selector", "status.phase!=Succeeded,status.phase!=Failed")
    kinds = ("deployments", "services", "statefulsets", "daemonsets", "configmaps", "ingresses")
    expected = {"pods": names("pods", *alive)} | {kind: names(kind) for kind in kinds}
    for kind, wanted in expected.items():
        assert [(each["namespace"], each["name"]) for each in hub.cluster(kind)] == wanted
    metadata = hub.cluster("resource_metadata")
    assert not metadata["truncated"]
    assert metadata["total_resources"] == sum(map(len, expected.values()))
    assert hub.cluster("namespaces")["namespaces"] == sorted(
        each["metadata"]["name"] for each in real.items("namespaces")
    )


def test_workloads_are_those_of_kubectl(hub: Hub, real: RealServer) -> None:
    for kind in ("deployments", "statefulsets"):
        rows = real.kubectl("get", kind, "-A", "--no-headers").splitlines()
        ready = {tuple(row.split()[:2]): row.split()[2] for row in rows}
        found = {
            (each["namespace"], each["name"]): f"{each['ready']}/{each['replicas']}"
            for each in hub.cluster(kind)
        }
        assert found == ready
    rows = real.kubectl("get", "services", "-A", "--no-headers").splitlines()
    shown = {tuple(row.split()[:2]): tuple(row.split()[2:4]) for row in rows}
    assert shown == {
        (each["namespace"], each["name"]): (each["type"], each.get("cluster_ip", "<none>"))
        for each in hub.cluster("services")
    }
    rows = real.kubectl("get", "daemonsets", "-A", "--no-headers").splitlines()
    assert {tuple(row.split()[:5]) for row in rows} == {
        (each["namespace"], each["name"], *(str(each[k]) for k in ("desired", "current", "ready")))
        for each in hub.cluster("daemonsets")
    }
    rows = real.kubectl("get", "configmaps", "-A", "--no-headers").splitlines()
    assert {tuple(row.split()[:3]) for row in rows} == {
        (each["namespace"], each["name"], str(each["data_count"]))
        for each in hub.cluster("configmaps")
    }


def test_the_status_of_the_connection_says_the_same(hub: Hub, real: RealServer) -> None:
    version = json.loads(real.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    status = real.get("clusterconnection", "real")["status"]
    assert (status["phase"], status["health"]) == ("Connected", "degraded")
    assert status["nodes"] == len(real.items("nodes"))
    assert status["namespaces"] == len(real.items("namespaces"))
    assert status["version"] == version
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    assert conditions["TLSVerified"] == conditions["Reachable"] == "True"
    assert "degraded" in real.kubectl("get", "cc", "real")


def test_a_source_over_deployments_counts_what_kubectl_lists(hub: Hub, real: RealServer) -> None:
    listed = [
        each
        for each in real.items("deployments", "-A")
        if not each["metadata"]["namespace"].startswith(HIDDEN)
    ]
    status = [each.get("status", {}) for each in listed]
    desired = [each["spec"]["replicas"] for each in listed]
    ready = [each.get("readyReplicas", 0) for each in status]
    shares = [round(a / max(b, 1) * 100, 1) for a, b in zip(ready, desired, strict=True)]
    values = hub.source(SOURCES[0], "aggregations")["values"]
    assert values == {
        "total": len(listed),
        "unhealthy": sum(each.get("unavailableReplicas", 0) > 0 for each in status),
        "desiredReplicas": sum(desired),
        "readyReplicas": sum(ready),
        "averageReadyPct": pytest.approx(sum(shares) / len(shares)),
        "minimumReadyPct": min(shares),
    }
    found = real.get("metricsource", SOURCES[0])["status"]
    assert (found["phase"], found["resourcesCollected"]) == ("Active", len(listed))


def test_a_source_over_claims_sums_what_kubectl_lists(hub: Hub, real: RealServer) -> None:
    listed = [
        each
        for each in real.items("persistentvolumeclaims", "-A")
        if not each["metadata"]["namespace"].startswith(HIDDEN)
    ]
    by_class: dict[str, int] = {}
    for each in listed:
        size = parse(each["status"].get("capacity", {}).get("storage", "0"))
        name = each["spec"]["storageClassName"]
        by_class[name] = by_class.get(name, 0) + int(size)
    phases = Counter(each["status"]["phase"] for each in listed)
    values = hub.source(SOURCES[1], "aggregations")["values"]
    assert values == {
        "total": len(listed),
        "bound": phases["Bound"],
        "pending": phases["Pending"],
        "totalCapacity": sum(by_class.values()),
        "capacityByStorageClass": by_class,
    }
    rows = hub.source(SOURCES[1], "resources")["resources"]
    assert [each["_id"] for each in rows] == [
        f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in listed
    ]
