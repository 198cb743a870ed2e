"""Mistakes in recipes are told with their field, before a hypervisor is asked."""

from typing import Any

import pytest
from machine_templates import build_template

from quarterdeck.operators.machines.recipe_checks import find_template_mistake

STATIC = {"mode": "static"}
POOL = {"pool": ["10.0.0.10-10.0.0.20/24"]}


def github(url: str) -> dict[str, Any]:
    return {"method": "runner-token", "config": {"github": {"url": url}}}


def tpm(**policy: Any) -> dict[str, Any]:
    return {"method": "tpm", "config": {"tpm": policy}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"resources": {"cpu": 1, "memory": "0Gi", "disk": "1G"}},
            "spec.resources.memory: 0Gi must be greater than 0",
        ),
        ({"network": {**STATIC, "staticConfig": {}}}, "spec.network.staticConfig has no address"),
        (
            {"network": {**STATIC, "staticConfig": {"pool": ["hello"]}}},
            "spec.network.staticConfig.pool: 'hello'",
        ),
        (
            {"network": {**STATIC, "staticConfig": {**POOL, "gateway": "zz"}}},
            "spec.network.staticConfig.gateway: 'zz' must be an IP address",
        ),
        (
            {"network": {**STATIC, "staticConfig": {**POOL, "dns": ["10.0.0.1", "ü"]}}},
            "spec.network.staticConfig.dns[1]: 'ü' must be an IP address",
        ),
        ({"cloudInit": {"userData": "{{{: ["}}, "spec.cloudInit.userData is not YAML"),
        ({"cloudInit": {"metaData": "- a"}}, "spec.cloudInit.metaData must be a map"),
        ({"cloudInit": {"networkData": "a: ["}}, "spec.cloudInit.networkData is not YAML"),
        (
            {"attestation": tpm(pcrSelection=[0, -1])},
            "spec.attestation.config.tpm.pcrSelection[1]: -1 must be from 0 to 23",
        ),
        (
            {"attestation": tpm(ekHashes=["ü"])},
            "spec.attestation.config.tpm.ekHashes[0]: 'ü' must be 64",
        ),
        ({"bootstrap": github("ü")}, "spec.bootstrap.config.github.url: 'ü' must be an address"),
    ],
)
def test_mistake_is_told_with_its_field(spec: dict[str, Any], message: str) -> None:
    assert find_template_mistake(build_template(**spec)).startswith(message)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"network": {**STATIC, "staticConfig": {**POOL, "gateway": "fe80::1", "dns": ["::1"]}}},
        {"network": {**STATIC, "staticConfig": {"pool": ["2001:db8::-2001:db8::ffff:ffff/64"]}}},
        {"cloudInit": {"userData": "#cloud-config\nfqdn: {a: ${FQDN}}\n", "metaData": ""}},
        {"attestation": tpm(pcrSelection=[0, 23], ekHashes=["aB" * 32])},
        {"bootstrap": github("https://github.example:8443")},
    ],
)
def test_usable_recipe_has_no_mistake(spec: dict[str, Any]) -> None:
    assert find_template_mistake(build_template(**spec)) == ""
