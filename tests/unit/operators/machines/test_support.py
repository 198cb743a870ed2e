"""Fields that nothing acts on are named, with what happens instead."""

from typing import Any, TypeVar

import pytest
from machine_templates import build_template

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.meta.objects import Object, decode
from quarterdeck.operators.machines.support import (
    find_unsupported_in_claim,
    find_unsupported_in_cluster,
    find_unsupported_in_fleet,
    find_unsupported_in_pool,
    find_unsupported_in_template,
)

Kind = TypeVar("Kind", bound=Object)
LEASE = {"dhcp": {"leaseTime": "1h"}}


def read(kind: type[Kind], spec: dict[str, Any]) -> Kind:
    """An object as a user writes it."""
    head = {"apiVersion": kind.KIND.api_version, "kind": kind.KIND.kind}
    metadata = {"name": "a", "namespace": "default"}
    return decode(kind, json.encode({**head, "metadata": metadata, "spec": spec}))


def build(**attestation: Any) -> HypervisorMachineTemplate:
    return build_template(attestation=attestation)


@pytest.mark.parametrize("method", ["join-token", "tpm", "tpm+token"])
def test_own_methods_are_acted_on(method: str) -> None:
    assert find_unsupported_in_template(build(method=method)) == []
    assert find_unsupported_in_template(build(method=method, config={"joinTokenTTL": "24h"})) == []


def test_method_that_is_not_installed_is_named_with_the_choices() -> None:
    (found,) = find_unsupported_in_template(build(method="bogus"))
    assert found.startswith("spec.attestation.method ('bogus' is not one of join-token, tpm,")


@pytest.mark.parametrize(("given", "used"), [("10s", "1m"), ("99h", "24h"), ("9999999999h", "24h")])
def test_lifetime_that_tokens_cannot_have_is_named_with_the_one_used(given: str, used: str) -> None:
    template = build(method="join-token", config={"joinTokenTTL": given})
    field = "spec.attestation.config.joinTokenTTL"
    assert find_unsupported_in_template(template) == [f"{field} ({given}; {used} is used)"]
    assert find_unsupported_in_template(build(method="tpm", config={"joinTokenTTL": given})) == []


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"dns": {"domain": "lab"}}, [], id="names without registration"),
        pytest.param(
            {
                "dns": {
                    "domain": "lab",
                    "registerVMs": True,
                    "dnsProvider": {"type": "route53"},
                    "validation": {"enabled": True},
                }
            },
            ["spec.dns.registerVMs", "spec.dns.dnsProvider", "spec.dns.validation"],
            id="names",
        ),
        pytest.param(
            {"network": {"validation": {"enabled": True}}},
            ["spec.network.validation"],
            id="network",
        ),
    ],
)
def test_fields_of_a_cluster_without_effect_are_named(
    spec: dict[str, Any], found: list[str]
) -> None:
    cluster = read(
        HypervisorCluster,
        {
            "provider": "mock",
            "endpoint": "mock://lab",
            "nodes": ["a"],
            "defaultStorage": "s",
            "defaultNetwork": "n",
            **spec,
        },
    )
    assert find_unsupported_in_cluster(cluster) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param(
            {"bootstrap": {"method": "none", "config": {}}}, ["spec.bootstrap.config"], id="config"
        ),
        pytest.param(
            {"bootstrap": {"method": "join-cluster"}}, ["spec.bootstrap.method"], id="method"
        ),
        pytest.param({"network": LEASE}, ["spec.network.dhcp"], id="lease"),
        pytest.param({"network": {"dhcp": {"hostname": "a"}}}, [], id="name for DHCP"),
    ],
)
def test_fields_of_a_template_without_effect_are_named(
    spec: dict[str, Any], found: list[str]
) -> None:
    assert find_unsupported_in_template(build_template(**spec)) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param({"providerID": "pve://1"}, ["spec.providerID"], id="id"),
        pytest.param({"network": LEASE}, ["spec.network.dhcp"], id="lease"),
        pytest.param(
            {"workloadConfig": {"type": "github-actions"}},
            ["spec.workloadConfig"],
            id="workload outside of a pool",
        ),
        pytest.param(
            {"workloadConfig": {"type": "gitlab-ci"}, "runnerPoolRef": {"name": "p"}},
            ["spec.workloadConfig.type"],
            id="workload that is not supported",
        ),
        pytest.param(
            {"workloadConfig": {"type": "github-actions"}, "runnerPoolRef": {"name": "p"}},
            [],
            id="runner of a pool",
        ),
    ],
)
def test_fields_of_a_claim_without_effect_are_named(spec: dict[str, Any], found: list[str]) -> None:
    claim = read(MachineClaim, {"templateRef": {"name": "small"}, **spec})
    assert find_unsupported_in_claim(claim) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param(
            {"placement": {"nodeSelector": {"disk": "ssd"}}},
            ["spec.placement.nodeSelector"],
            id="nodes",
        ),
        pytest.param(
            {"template": {"spec": {"network": LEASE, "workload": {"type": "generic"}}}},
            ["spec.template.spec.network.dhcp", "spec.template.spec.workload"],
            id="overrides",
        ),
        pytest.param(
            {"disruption": {"budgets": [{"nodes": "1"}, {"nodes": "1", "schedule": "@daily"}]}},
            [],
            id="schedules",
        ),
        pytest.param(
            {"disruption": {"budgets": [{"nodes": "1", "schedule": "never"}]}},
            ["spec.disruption.budgets[0].schedule ("],
            id="bad schedule",
        ),
    ],
)
def test_fields_of_a_fleet_without_effect_are_named(spec: dict[str, Any], found: list[str]) -> None:
    fleet = read(Fleet, {"replicas": 1, "image": "small", "selector": {"a": "b"}, **spec})
    named = find_unsupported_in_fleet(fleet)
    assert len(named) == len(found)
    for text, start in zip(named, found, strict=True):
        assert text.startswith(start)


@pytest.mark.parametrize(
    ("workload", "polling", "found"),
    [
        pytest.param({"type": "buildkite"}, False, ["spec.workload.type"], id="type"),
        pytest.param({"type": "github-actions"}, True, ["spec.polling"], id="nothing to poll"),
        pytest.param(
            {
                "type": "github-actions",
                "config": {"github": {"organization": "shop", "runnerGroup": "big"}},
            },
            True,
            ["spec.workload.config.github.runnerGroup", "spec.polling"],
            id="jobs of an organization",
        ),
        pytest.param(
            {"type": "github-actions", "config": {"github": {"repository": "shop/web"}}},
            True,
            [],
            id="jobs of a repository",
        ),
    ],
)
def test_fields_of_a_pool_without_effect_are_named(
    workload: dict[str, Any], found: list[str], *, polling: bool
) -> None:
    spec = {"templateRef": {"name": "small"}, "workload": workload, "polling": {"enabled": polling}}
    assert find_unsupported_in_pool(read(RunnerPool, spec)) == found
