"""The cloud-init documents of machines: names, users and networks."""

from typing import Any

import pytest
from machine_templates import build_template

from quarterdeck.apis.hypervisor.claim import (
    MachineClaim,
    MachineClaimSpec,
    MachineClaimStatus,
    NetworkInfo,
)
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import ObjectMeta, decode
from quarterdeck.operators.machines.cloudinit import InvalidCloudInit, build_seed
from quarterdeck.operators.machines.machine import CloudInit


def build_cluster(**spec: Any) -> HypervisorCluster:
    document = {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorCluster",
        "metadata": {"name": "lab", "namespace": "default"},
        "spec": {
            "provider": "mock",
            "endpoint": "mock://lab",
            "nodes": ["a"],
            "defaultStorage": "s",
            "defaultNetwork": "n",
            **spec,
        },
    }
    return decode(HypervisorCluster, json.encode(document))


def build(address: str = "", cluster: dict[str, Any] | None = None, **template: Any) -> CloudInit:
    claim = MachineClaim(
        metadata=ObjectMeta(name="m1", namespace="default", uid="u-1"),
        spec=MachineClaimSpec(template_ref=ObjectReference(name="small")),
        status=MachineClaimStatus(network_info=NetworkInfo(ip_address=address)),
    )
    return build_seed(claim, build_template(**template), build_cluster(**(cluster or {})))


def read_device(seed: CloudInit) -> Any:
    return yaml.load(seed.network_data)["ethernets"]["primary"]


def test_user_and_keys_are_those_of_the_template() -> None:
    given = {"user": "ops", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}
    document = yaml.load(build(cloudInit=given).user_data)
    assert document["system_info"] == {"default_user": {"name": "ops"}}
    assert document["ssh_authorized_keys"] == ["ssh-ed25519 AAAA"]
    assert (document["hostname"], document["fqdn"]) == ("m1", "m1")


def test_static_address_has_its_gateway_and_name_servers() -> None:
    network = {
        "mode": "static",
        "dns": {"domain": "lab.example.com", "search": ["example.com"]},
        "staticConfig": {"addresses": ["10.0.0.5/24"], "gateway": "10.0.0.1", "dns": ["10.0.0.2"]},
    }
    seed = build("10.0.0.5/24", network=network)
    assert read_device(seed) == {
        "match": {"name": "e*"},
        "dhcp4": False,
        "addresses": ["10.0.0.5/24"],
        "routes": [{"to": "default", "via": "10.0.0.1"}],
        "nameservers": {"addresses": ["10.0.0.2"], "search": ["example.com"]},
    }
    assert yaml.load(seed.user_data)["fqdn"] == "m1.lab.example.com"


def test_name_servers_of_the_cluster_are_used_if_the_machine_names_none() -> None:
    network = {"mode": "static", "staticConfig": {"addresses": ["10.0.0.5/24"]}}
    dns = {"dns": {"domain": "lab", "servers": ["10.0.0.3"]}}
    device = read_device(build("10.0.0.5/24", cluster=dns, network=network))
    assert device["nameservers"]["addresses"] == ["10.0.0.3"]
    assert "routes" not in device


def test_dhcp_sends_what_the_template_asks_for() -> None:
    device = read_device(build(network={"mode": "dhcp", "dhcp": {"sendHostname": True}}))
    assert device["dhcp4"] is True
    assert device["dhcp-identifier"] == "mac"
    assert device["dhcp4-overrides"] == {"send-hostname": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "spec.cloudInit.userData is not YAML", id="not YAML"),
        pytest.param("- a", "spec.cloudInit.userData must be a map", id="a list"),
    ],
)
def test_texts_that_are_no_cloud_config_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidCloudInit, match=message):
        build(cloudInit={"userData": text})
