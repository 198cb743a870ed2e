"""Cluster information, operators and short lists."""

from typing import Any

import msgspec

from quarterdeck.inventory import cluster, cluster_operators, operators, resources
from quarterdeck.inventory.forms import ConfigMap, Ingress, Pod, Workload
from quarterdeck.inventory.resources import Limits, PodSelection

OPENSHIFT = {
    "spec": {"channel": "stable-4.16", "clusterID": "id"},
    "status": {
        "desired": {"version": "4.16.3", "image": "quay.io/x"},
        "history": [{"state": "Completed", "startedTime": "s", "completionTime": "c"}],
        "availableUpdates": [{"version": "4.16.4"}],
        "conditions": [
            {"type": "Available", "status": "True", "lastTransitionTime": "t"},
            {"type": "Progressing", "status": "False"},
        ],
    },
}


def test_openshift_is_described_by_its_cluster_version() -> None:
    route = {"spec": {"host": "console.apps.x", "tls": {}}}
    found = cluster.read_info(
        endpoint="https://api.x:6443",
        server_version={"gitVersion": "v1.29"},
        cluster_version=OPENSHIFT,
        console_route={"spec": {"host": "console.apps.x", "tls": {"termination": "edge"}}},
    )
    assert (found["platform"], found["version"]) == ("OpenShift", "4.16.3")
    assert (found["update_available"], found["available_update_version"]) == (True, "4.16.4")
    assert (found["is_available"], found["is_progressing"]) == (True, False)
    assert found["conditions"][0]["last_transition_time"] == "t"
    assert found["console_url"] == "https://console.apps.x"
    plain = cluster.read_info(endpoint="e", cluster_version=OPENSHIFT, console_route=route)
    assert plain["console_url"] == "http://console.apps.x"
    derived = cluster.read_info(endpoint="https://api.x:6443", cluster_version=OPENSHIFT)
    assert derived["console_url"] == "https://console-openshift-console.apps.x"


def test_other_clusters_are_described_by_the_servers_version() -> None:
    found = cluster.read_info(endpoint="https://k:6443", server_version={"gitVersion": "v1.32.4"})
    assert (found["platform"], found["version"]) == ("Kubernetes", "v1.32.4")
    assert cluster.read_info(endpoint="e")["version"] == "unknown"


def subscription(
    name: str, csv: str = "csv", namespace: str = "ops", **spec: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"name": name, **spec},
        "status": {"installedCSV": csv},
    }


def version(*modes: str, targets: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": "csv", "annotations": {"olm.targetNamespaces": targets}},
        "spec": {
            "displayName": "Nice",
            "version": "1.2.3",
            "provider": {"name": "Us"},
            "installModes": [{"type": mode, "supported": True} for mode in modes]
            + [{"type": "Other", "supported": False}],
        },
        "status": {"phase": "Succeeded"},
    }


def read_one(csv: dict[str, Any], **spec: Any) -> operators.OperatorFacts:
    [found] = operators.read_operators(
        [subscription("op", **spec), subscription("pending", csv="")],
        {("ops", "csv"): csv},
        namespaces=30,
    )
    return found


def test_an_operator_for_all_namespaces_reaches_all() -> None:
    found = read_one(version("AllNamespaces", "OwnNamespace"))
    assert found.is_cluster_wide
    assert (found.available_in_namespaces, found.available_count) == (("*",), 30)
    assert found.available_namespaces_detail == "All namespaces"
    assert found.install_modes == ("AllNamespaces", "OwnNamespace")


def test_an_operator_reaches_its_target_namespaces() -> None:
    found = read_one(version("SingleNamespace", targets="b,a"))
    assert (found.available_in_namespaces, found.available_count) == (("a", "b"), 2)
    assert found.install_mode == "SingleNamespace"
    assert read_one(version("OwnNamespace")).available_in_namespaces == ("ops",)
    by_environment = read_one(
        version("SingleNamespace"), config={"env": [{"name": "WATCH_NAMESPACE", "value": "w"}]}
    )
    assert by_environment.available_in_namespaces == ("w",)


def test_a_long_reach_is_cut_and_kept_beside() -> None:
    found = read_one(version("MultiNamespace", targets=",".join(f"n{i:02}" for i in range(25))))
    assert len(found.available_in_namespaces) == 20
    assert found.available_namespaces_detail == "25 namespaces (showing first 20)"
    assert len(msgspec.to_builtins(found)["all_available_namespaces"]) == 25


def test_operators_are_summarized() -> None:
    wide, narrow = read_one(version("AllNamespaces")), read_one(version("OwnNamespace"))
    found = operators.summarize([wide, narrow])
    assert found.by_status == {"Succeeded": 2}
    assert found.by_install_mode == {"cluster_wide": 1, "namespace_scoped": 1}


def test_a_cluster_operator_tells_what_matters_most() -> None:
    documents: list[dict[str, Any]] = [
        {
            "metadata": {"name": "dns"},
            "status": {
                "conditions": [
                    {"type": "Available", "status": "False", "message": "gone"},
                    {"type": "Degraded", "status": "True", "message": "broken", "reason": "R"},
                ],
                "versions": [{"name": "x", "version": "1"}, {"name": "operator", "version": "2"}],
                "relatedObjects": [{"group": "", "resource": "namespaces", "name": "n"}],
            },
        },
        {"metadata": {"name": "auth"}, "status": {}},
    ]
    auth, dns = cluster_operators.read_cluster_operators(documents)
    assert (dns.message, dns.reason, dns.version) == ("broken", "R", "2")
    assert dns.related_objects[0].resource == "namespaces"
    found = cluster_operators.summarize([auth, dns], now="n")
    assert found.issues == ("auth: not available - ", "dns: degraded - broken")
    assert found.has_issues and not found.all_healthy
    assert "issues" not in msgspec.to_builtins(cluster_operators.summarize([], now="n"))


def pods(namespace: str, count: int, phase: str = "Running") -> list[Pod]:
    shape = {"metadata": {"name": "p", "namespace": namespace}, "status": {"phase": phase}}
    return [msgspec.convert(shape, Pod)] * count


def test_pods_are_kept_within_both_limits() -> None:
    selection = PodSelection(Limits(pods_per_namespace=2, pods=3))
    for each in [*pods("a", 2), *pods("b", 1), *pods("c", 5, "Succeeded")]:
        selection.add(each)
    assert (len(selection.kept), selection.is_truncated) == (3, False)
    for each in pods("d", 1):
        selection.add(each)
    assert (len(selection.kept), selection.is_truncated) == (3, True)


def test_workloads_and_others_are_summarized() -> None:
    shape = {"metadata": {"name": "w", "namespace": "n", "labels": {"a": "b"}}}
    found = resources.summarize_workload(msgspec.convert(shape, Workload), with_labels=True)
    assert msgspec.to_builtins(found) == {
        "name": "w",
        "namespace": "n",
        "replicas": 1,
        "ready": 0,
        "labels": {"a": "b"},
    }
    config = msgspec.json.decode(
        b'{"metadata":{"name":"c"},"data":{"a":"1","b":"2"},"binaryData":{"c":"eA=="}}',
        type=ConfigMap,
    )
    assert resources.summarize_config_map(config).data_count == 3
    ingress = msgspec.convert(
        {"spec": {"rules": [{"host": "a"}, {"host": "a"}, {}], "tls": [{"hosts": ["b"]}]}}, Ingress
    )
    assert resources.summarize_ingress(ingress).hosts == ("a",)
    assert resources.summarize_ingress(ingress).tls_hosts == ("b",)
