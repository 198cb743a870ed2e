"""Which writes rules of webhooks and policies are about."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.matching import (
    EquivalentResources,
    find_match,
    is_exempt,
    parse_rules,
)
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry.registry import Registry

REGISTRY = Registry()
REGISTRY.put("built-in", build_builtin_resources())
RESOURCES = {(each.gvr.group_resource, each.gvr.version): each for each in REGISTRY}


def write(
    resource: str, verb: str = "create", *, version: str = "v1", subresource: str = ""
) -> AdmissionAttributes:
    found = RESOURCES[(resource, version)]
    return AdmissionAttributes(
        verb=verb,
        resource=found,
        namespace="n" if found.namespaced else "",
        name="x",
        user=User(name="alice"),
        subresource=subresource,
        value={"metadata": {"name": "x"}},
    )


def matches(
    rule: Mapping[str, object], attributes: AdmissionAttributes, *, exact: bool = True
) -> bool:
    full = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
        **rule,
    }
    equivalents = EquivalentResources(REGISTRY).get(attributes.resource)
    return find_match(parse_rules([full]), attributes, equivalents, is_exact=exact) is not None


@pytest.mark.parametrize(
    ("pattern", "subresource", "expected"),
    [
        pytest.param("pods", "", True, id="the resource"),
        pytest.param("pods", "status", False, id="not what is below it"),
        pytest.param("pods/*", "status", True, id="all below"),
        pytest.param("pods/status", "status", True, id="one below"),
        pytest.param("pods/status", "", False, id="only below"),
        pytest.param("*", "", True, id="every resource"),
        pytest.param("*", "status", False, id="every resource, nothing below"),
        pytest.param("*/*", "status", True, id="everything"),
        pytest.param("*/status", "status", True, id="every status"),
        pytest.param("services", "", False, id="another"),
    ],
)
def test_patterns_of_resources_match_as_in_kubernetes(
    pattern: str, subresource: str, expected: bool
) -> None:
    assert matches({"resources": [pattern]}, write("pods", subresource=subresource)) is expected


def test_scope_tells_namespaced_from_cluster_wide() -> None:
    assert matches({"scope": "Namespaced"}, write("pods"))
    assert not matches({"scope": "Cluster"}, write("pods"))
    assert matches({"scope": "Cluster"}, write("nodes"))
    assert not matches({"scope": "Namespaced"}, write("nodes"))
    assert matches({"scope": "Cluster"}, write("namespaces"))


def test_equivalent_versions_count_unless_the_match_is_exact() -> None:
    rule = {"apiGroups": ["autoscaling"], "apiVersions": ["v1"]}
    scaler = write("horizontalpodautoscalers.autoscaling", version="v2")
    assert matches(rule, scaler, exact=False)
    assert not matches(rule, scaler, exact=True)


def test_names_limit_a_rule() -> None:
    assert matches({"resourceNames": ["x"]}, write("pods"))
    assert not matches({"resourceNames": ["y"]}, write("pods"))


def test_configurations_of_admission_are_exempt() -> None:
    found = {gvr for gvr in (each.gvr for each in REGISTRY) if is_exempt(gvr)}
    assert {gvr.resource for gvr in found} == {
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    }


@given(
    st.sampled_from(sorted(RESOURCES)),
    st.sampled_from(["create", "update", "delete"]),
    st.lists(st.sampled_from(["CREATE", "UPDATE", "DELETE", "*"]), min_size=1),
    st.lists(st.sampled_from(["", "apps", "batch", "*"]), min_size=1),
)
def test_a_rule_is_about_exactly_what_it_lists(
    key: tuple[str, str], verb: str, operations: list[str], groups: list[str]
) -> None:
    attributes = write(key[0], verb, version=key[1])
    gvr = attributes.resource.gvr
    expected = any(
        operation in ("*", verb.upper()) and group in ("*", gvr.group)
        for operation, group in itertools.product(operations, groups)
    )
    assert matches({"operations": operations, "apiGroups": groups}, attributes) is expected
