"""The table of built-in kinds: complete, intact, quick to load."""

import json
from pathlib import Path

import pytest

from quarterdeck.meta import builtins
from quarterdeck.meta.builtins import table
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.schema import Node

GOLDEN = Path(__file__).parents[3] / "golden"


def node(group: str, version: str, kind: str) -> Node:
    found = builtins.find_node(GVK(group, version, kind))
    assert found is not None
    return found


def test_table_is_the_one_that_was_generated() -> None:
    assert builtins.verify() == []


@pytest.mark.parametrize("resource", builtins.list_resources(), ids=lambda item: str(item.gvr))
def test_every_served_resource_has_a_schema(resource: builtins.Resource) -> None:
    assert builtins.is_builtin(resource.kind)
    for part in resource.subresources:
        assert builtins.is_builtin(part.kind), part.name


def test_resources_are_those_of_discovery() -> None:
    recorded = json.loads((GOLDEN / "discovery-v1.32.4.json").read_text())["/apis/apps/v1"]
    expected = {item["name"]: item for item in recorded["resources"]}
    found = {item.gvr: item for item in builtins.list_resources()}
    deployments = found[GVR("apps", "v1", "deployments")]
    assert deployments.short_names == tuple(expected["deployments"]["shortNames"])
    assert deployments.categories == tuple(expected["deployments"]["categories"])
    assert deployments.verbs == tuple(expected["deployments"]["verbs"])
    assert deployments.namespaced
    assert [part.name for part in deployments.subresources] == ["scale", "status"]
    assert deployments.subresources[0].kind == GVK("autoscaling", "v1", "Scale")


def test_unknown_kind_has_no_schema() -> None:
    assert builtins.find_node(GVK("apps", "v1", "Nope")) is None
    assert builtins.find_node(GVK("example.com", "v1", "Deployment")) is None
    assert builtins.find_node(GVK("", "v1", "PodSpec")) is None


def test_list_keys_and_strategies_come_from_the_types() -> None:
    pod = node("", "v1", "Pod").properties["spec"]
    container = pod.properties["containers"].items
    assert container is not None
    ports = container.properties["ports"]
    assert (ports.list_type, ports.list_map_keys) == ("map", ("containerPort", "protocol"))
    assert (ports.patch_strategy, ports.patch_merge_key) == (("merge",), "containerPort")
    assert ports.items is not None and ports.items.properties["protocol"].default == "TCP"
    assert pod.properties["volumes"].patch_strategy == ("merge", "retainKeys")


def test_inlined_structs_stand_in_their_parent() -> None:
    volumes = node("", "v1", "Pod").properties["spec"].properties["volumes"].items
    assert volumes is not None
    assert {"name", "configMap", "emptyDir"} <= volumes.properties.keys()


def test_atomic_structs_are_known_by_type() -> None:
    deployment = node("apps", "v1", "Deployment")
    assert deployment.properties["spec"].properties["selector"].map_type == "atomic"


def test_schemas_may_be_cyclic() -> None:
    crd = node("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    version = crd.properties["spec"].properties["versions"].items
    assert version is not None
    schema = version.properties["schema"].properties["openAPIV3Schema"]
    inner = schema.properties["properties"].additional
    assert isinstance(inner, Node)
    assert inner.properties is schema.properties


def test_type_names_are_those_of_openapi() -> None:
    assert node("apps", "v1", "Deployment").type_name == "io.k8s.api.apps.v1.Deployment"
    assert table.to_short_name("io.k8s.api.apps.v1.Deployment") == "apps/v1.Deployment"


def test_kinds_of_a_version_are_listed() -> None:
    assert {"Pod", "PodList", "Secret"} <= set(table.list_kinds("v1"))
    assert "PodSpec" not in table.list_kinds("v1")
    assert "apps/v1" in table.list_api_versions()
