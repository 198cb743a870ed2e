"""Discovery documents against recorded ones."""

import json
from pathlib import Path

import pytest

from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.nonresource import discovery
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.version_rank import rank_version
from quarterdeck.server.request.negotiation import Discovery

DOCUMENTS = json.loads(
    (Path(__file__).parents[3] / "golden" / "discovery-v1.32.4.json").read_text()
)


def _registry() -> Registry:
    registry = Registry()
    registry.put("built-in", build_builtin_resources())
    return registry


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if "aggregated" not in path])
def test_discovery_says_what_was_recorded(path: str) -> None:
    if path in ("/api", "/apis"):
        return
    documents = discovery.DiscoveryDocuments(_registry())
    parts = path.strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    body = documents.get_resources(group, version)
    expected = {each["name"]: each for each in DOCUMENTS[path]["resources"]}
    if body is None:
        assert all("list" not in each["verbs"] for each in expected.values()) or group.startswith(
            "apiext"
        )
        return
    for each in json.loads(body)["resources"]:
        assert each == expected[each["name"]]


def test_aggregated_discovery_has_the_recorded_shape() -> None:
    documents = discovery.DiscoveryDocuments(_registry())
    made = json.loads(documents.get_aggregated(Discovery.V2, core=False))
    recorded = DOCUMENTS["/apis (aggregated v2)"]
    assert {name: made[name] for name in ("kind", "apiVersion", "metadata")} == {
        name: recorded[name] for name in ("kind", "apiVersion", "metadata")
    }
    expected = {item["metadata"]["name"]: item for item in recorded["items"]}
    for item in made["items"]:
        assert item == expected[item["metadata"]["name"]]
    beta = json.loads(documents.get_aggregated(Discovery.V2BETA1, core=True))
    assert beta["apiVersion"] == "apidiscovery.k8s.io/v2beta1"


def test_documents_follow_the_registry() -> None:
    registry = _registry()
    documents = discovery.DiscoveryDocuments(registry)
    assert documents.get_resources("apps", "v1") is not None
    registry.remove("built-in")
    assert documents.get_resources("apps", "v1") is None
    assert json.loads(documents.get_groups())["groups"] == []


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    mixed = ["foo1", "v1alpha2", "v10", "v2", "v1beta1", "v11alpha1", "foo10", "v3beta1"]
    ordered = sorted(mixed, key=rank_version, reverse=True)
    assert ordered[:6] == ["v10", "v2", "v3beta1", "v1beta1", "v11alpha1", "v1alpha2"]
