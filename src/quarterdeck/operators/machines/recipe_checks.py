"""Finds mistakes in templates and claims before a hypervisor is called. Pure.

A schema cannot tell an address or a cloud-config document from any other text. A mistake found here
is reported on the template; otherwise a VM would be made first, and fail or have no network.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from quarterdeck.apis.hypervisor.bootstrap import Attestation, Bootstrap
from quarterdeck.apis.hypervisor.shape import MachineNetwork, MachineResources
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.operators.machines.cloudinit import InvalidCloudInit, check_documents
from quarterdeck.operators.machines.plan.addresses import InvalidPool, check_pool
from quarterdeck.operators.machines.sizes import parse_bytes

LAST_REGISTER = 23
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


def find_template_mistake(template: HypervisorMachineTemplate) -> str:
    """The first mistake in the fields of a template; empty if there is none."""
    spec = template.spec
    mistake = (
        find_resource_mistake(spec.resources, "spec.resources")
        or find_network_mistake(spec.network, "spec.network")
        or _find_attestation_mistake(spec.attestation)
        or _find_bootstrap_mistake(spec.bootstrap)
    )
    if mistake or spec.cloud_init is None:
        return mistake
    try:
        check_documents(spec.cloud_init)
    except InvalidCloudInit as error:
        return str(error)
    return ""


def find_resource_mistake(resources: MachineResources | None, field: str) -> str:
    """Why no machine can have these resources; empty if one can."""
    if resources is not None and not parse_bytes(resources.memory):
        return f"{field}.memory: {resources.memory} must be greater than 0, such as 2Gi"
    return ""


def find_network_mistake(network: MachineNetwork | None, field: str) -> str:
    """The first text that is not an address; empty if a machine can use the network."""
    if network is None or network.static_config is None:
        return ""
    static, field = network.static_config, f"{field}.staticConfig"
    if network.mode == "static" and not static.pool and not static.ip:
        return f"{field} has no address: set {field}.pool or {field}.ip"
    try:
        check_pool(static)
    except InvalidPool as error:
        return f"{field.removesuffix('network.staticConfig')}{error}"
    if static.gateway and parse_address(static.gateway) is None:
        return f"{field}.gateway: {static.gateway!r} must be an IP address such as 10.0.0.1"
    return find_server_mistake(static.dns, f"{field}.dns")


def find_server_mistake(servers: Iterable[str], field: str) -> str:
    """The first name server that is not an address; empty if all are."""
    for index, server in enumerate(servers):
        if parse_address(server) is None:
            return f"{field}[{index}]: {server!r} must be an IP address such as 10.0.0.1"
    return ""


def _find_attestation_mistake(attestation: Attestation | None) -> str:
    """Find a PCR or digest that no TPM can have, so that every machine would be refused."""
    config = attestation.config if attestation is not None else None
    policy, field = config.tpm if config is not None else None, "spec.attestation.config.tpm"
    if policy is None:
        return ""
    for index, register in enumerate(policy.pcr_selection):
        if not 0 <= register <= LAST_REGISTER:
            return f"{field}.pcrSelection[{index}]: {register} must be from 0 to {LAST_REGISTER}"
    for index, digest in enumerate(policy.ek_hashes):
        if not _DIGEST.fullmatch(digest):
            return f"{field}.ekHashes[{index}]: {digest!r} must be 64 hexadecimal digits"
    return ""


def _find_bootstrap_mistake(bootstrap: Bootstrap) -> str:
    """Find an invalid GitHub URL, with which no runner could register."""
    github = bootstrap.config.github if bootstrap.config is not None else None
    if bootstrap.method != "runner-token" or github is None:
        return ""
    page, field = urlsplit(github.url), "spec.bootstrap.config.github.url"
    if page.scheme not in ("http", "https") or not page.netloc:
        return f"{field}: {github.url!r} must be an address such as https://github.com/example"
    return ""
