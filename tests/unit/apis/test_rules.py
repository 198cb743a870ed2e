"""The CEL rules of our kinds: they compile, they are cheap, and they refuse what they should."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterdeck import apis
from quarterdeck.apis.applications.v1 import Application
from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection, MetricSource
from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection, Pipeline
from quarterdeck.cel import Environment
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object
from quarterdeck.meta.schema import Node, Rule
from quarterdeck.meta.type_schema import walk

COST_LIMIT = 10_000_000
"""What the server allows one rule to cost at most."""


def rules() -> Iterator[Any]:
    for kind in apis.own_scheme().list_kinds():
        for path, node in walk(crd.build_schema(kind)):
            for number, rule in enumerate(node.rules):
                yield pytest.param(node, rule, not path, id=f"{kind.__name__}.{path}[{number}]")


@pytest.mark.parametrize(("node", "rule", "is_root"), list(rules()))
def test_rules_compile_within_the_cost_limit(node: Node, rule: Rule, is_root: bool) -> None:
    program = Environment.for_schema(node, old_self=True, root=is_root).compile(rule.rule)
    assert program.estimated_cost.max < COST_LIMIT
    assert rule.message
    if rule.field_path:
        for name in rule.field_path.removeprefix(".").split("."):
            assert name in node.properties
            node = node.properties[name]


def refusals(kind: type[Object], path: str, value: Any) -> list[str]:
    node = dict(walk(crd.build_schema(kind)))[path]
    environment = Environment.for_schema(node, old_self=True)
    return [
        rule.message
        for rule in node.rules
        if environment.compile(rule.rule).evaluate({"self": value}) is not True
    ]


@pytest.mark.parametrize("image", ["nginx", "nginx:latest", "myorg/myapp:v1.0.0", "a@sha256:00"])
def test_image_references_are_accepted(image: str) -> None:
    assert refusals(Application, "spec.image", image) == []


@pytest.mark.parametrize("image", [" ", "nginx latest", "nginx\n"])
def test_blanks_in_an_image_are_refused(image: str) -> None:
    assert len(refusals(Application, "spec.image", image)) == 1


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        ("nginx:latest", False),
        ("nginx", False),
        ("myorg/myapp:v1.0.0", False),
        ("docker.io/myorg/myapp", False),
        ("gcr.io/project/app:1", False),
        ("alpine-tools:1", False),
        ("ubuntu", True),
        ("debian:12", True),
        ("alpine@sha256:00", True),
        ("docker.io/library/alpine:3", True),
        ("quay.io/org/app", True),
        ("localhost:5000/app", True),
    ],
)
def test_trusted_images_follow_the_policy(image: str, refused: bool) -> None:
    spec = {"replicas": 1, "image": image}
    assert refusals(Application, "spec", spec) == []
    assert refusals(Application, "spec", {**spec, "imagePolicy": "Any"}) == []
    assert bool(refusals(Application, "spec", {**spec, "imagePolicy": "Trusted"})) is refused


@pytest.mark.parametrize(
    ("config", "refused"),
    [({}, False), ({"key": "value", "A_b-c.d": ""}, False), ({"a/b": ""}, True), ({"": ""}, True)],
    ids=["none", "good", "slash", "empty"],
)
def test_config_keys_fit_a_config_map(config: dict[str, str], refused: bool) -> None:
    assert bool(refusals(Application, "spec.config", config)) is refused


@pytest.mark.parametrize(
    ("names", "refused"),
    [(["http", "https"], False), ([None, None], False), (["http", "http"], True)],
    ids=["different", "none", "equal"],
)
def test_port_names_differ(names: list[str | None], refused: bool) -> None:
    ports = [
        {"port": number, **({"name": name} if name else {})} for number, name in enumerate(names, 1)
    ]
    assert bool(refusals(Application, "spec.ports", ports)) is refused


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"contents": "x"}, False),
        ({"contentsFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}, False),
        ({}, True),
        ({"contents": "x", "contentsFrom": {}}, True),
    ],
    ids=["inline", "reference", "neither", "both"],
)
def test_contents_are_given_once(spec: dict[str, Any], refused: bool) -> None:
    assert bool(refusals(Pipeline, "spec", spec)) is refused


@pytest.mark.parametrize(("contents", "refused"), [(" x\n", False), (" \n\t", True)])
def test_contents_are_not_blank(contents: str, refused: bool) -> None:
    assert bool(refusals(Pipeline, "spec.contents", contents)) is refused


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ({"type": "Git", "namespace": "repo"}, False),
        ({"type": "Git"}, True),
        ({"type": "Terraform", "namespace": ""}, True),
        ({"type": "Unspecified"}, False),
        ({"type": "Kubernetes"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_git_and_terraform_name_their_origin(source: dict[str, Any], refused: bool) -> None:
    assert bool(refusals(Pipeline, "spec.source", source)) is refused


def test_one_reference_is_given() -> None:
    one = {"configMapKeyRef": {"name": "a", "key": "b"}}
    both = {**one, "secretKeyRef": {"name": "a", "key": "b"}}
    assert refusals(Pipeline, "spec.contentsFrom", one) == []
    assert refusals(Pipeline, "spec.contentsFrom", both) != []
    assert refusals(Pipeline, "spec.contentsFrom", {}) != []


def test_a_connection_has_an_address() -> None:
    assert refusals(FleetConnection, "spec", {"url": "https://x"}) == []
    assert refusals(FleetConnection, "spec", {"secretRef": {"name": "x"}}) == []
    assert refusals(FleetConnection, "spec", {}) != []


def test_push_needs_the_address_of_the_ingester() -> None:
    push = {"endpoint": "https://a", "credentialsRef": {"name": "a"}, "collectionMode": "push"}
    assert refusals(ClusterConnection, "spec", push) == [
        "ingesterAddress is required when collectionMode is push"
    ]
    assert refusals(ClusterConnection, "spec", {**push, "ingesterAddress": "hub:9443"}) == []
    assert refusals(ClusterConnection, "spec", {**push, "collectionMode": "pull"}) == []


@pytest.mark.parametrize(
    ("aggregation", "refused"),
    [
        ({"name": "a", "function": "count"}, False),
        ({"name": "a", "function": "sum", "field": "x"}, False),
        ({"name": "a", "function": "sum"}, True),
        ({"name": "a", "function": "sum", "field": ""}, True),
    ],
    ids=str,
)
def test_only_count_needs_no_field(aggregation: dict[str, Any], refused: bool) -> None:
    assert bool(refusals(MetricSource, "spec.aggregations[]", aggregation)) is refused
