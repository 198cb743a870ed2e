"""The documents that a machine reads at its first start. Pure.

What the template says and what the operator adds are merged as structures: maps by key, lists one
after the other, and where both set the same value the template's wins. ${NAME} in the template's
texts is replaced; nothing else is evaluated.
"""

import re
from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.shape import CloudInit as CloudInitSpec
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import yaml
from quarterdeck.operators.machines.machine import CloudInit
from quarterdeck.operators.machines.machinespec import choose_network

HEADER = "#cloud-config\n"
_VARIABLE = re.compile(r"\$\{([A-Za-z]+)\}")


class InvalidCloudInit(ValueError):
    """Raised when a text of the template is not cloud-init; the message names text and cause."""


def needs_seed(template: HypervisorMachineTemplate, claim: MachineClaim) -> bool:
    """Whether the machine needs a cloud-init seed."""
    network = choose_network(claim, template)
    return (
        template.spec.cloud_init is not None
        or template.spec.attestation is not None
        or network.mode != "dhcp"
    )


def build_seed(
    claim: MachineClaim,
    template: HypervisorMachineTemplate,
    cluster: HypervisorCluster,
    *,
    more: Mapping[str, Any] = {},
) -> CloudInit:
    """Build the three documents; `more` is the bootstrap's part of the user data.

    Raises:
        InvalidCloudInit: if a text of the template cannot be used.
    """
    given = template.spec.cloud_init or CloudInitSpec()
    known = build_variables(claim, template, cluster)
    user = _read("cloudInit.userData", given.user_data, known)
    meta = _read("cloudInit.metaData", given.meta_data, known)
    own: dict[str, Any] = {"hostname": known["Hostname"], "fqdn": known["FQDN"]}
    if given.ssh_authorized_keys:
        own["ssh_authorized_keys"] = list(given.ssh_authorized_keys)
    if given.user:
        own["system_info"] = {"default_user": {"name": given.user}}
    meta |= {"instance-id": claim.metadata.uid, "local-hostname": known["Hostname"]}
    return CloudInit(
        HEADER + yaml.dump(merge(merge(own, more), user)),
        yaml.dump(meta),
        _substitute(given.network_data, known) or _render_network_data(claim, template, cluster),
    )


def check_documents(given: CloudInitSpec) -> None:
    """Check the template's documents with a placeholder in place of each ${NAME}.

    Raises:
        InvalidCloudInit: if one cannot be used.
    """
    for field, text in (
        ("userData", given.user_data),
        ("metaData", given.meta_data),
        ("networkData", given.network_data),
    ):
        _read(f"cloudInit.{field}", _VARIABLE.sub("x", text), {})


def build_variables(
    claim: MachineClaim, template: HypervisorMachineTemplate, cluster: HypervisorCluster
) -> dict[str, str]:
    """The values of the variables that documents of the template may refer to."""
    network, address = choose_network(claim, template), _find_static_address(claim, template)
    static, name = network.static_config, claim.metadata.name
    domain = (network.dns.domain if network.dns is not None else "") or (
        cluster.spec.dns.domain if cluster.spec.dns is not None else ""
    )
    attestation = template.spec.attestation
    workload = claim.spec.workload_config
    return {
        "Hostname": name,
        "FQDN": f"{name}.{domain}" if domain else name,
        "NetworkMode": network.mode,
        "StaticIP": address.partition("/")[0],
        "NetmaskBits": address.partition("/")[2],
        "Gateway": static.gateway if static is not None else "",
        "DNSServers": ",".join(list_name_servers(claim, template, cluster)),
        "WorkloadMethod": workload.type if workload is not None else "generic",
        "AttestationMethod": attestation.method if attestation is not None else "",
        "BootstrapMethod": template.spec.bootstrap.method,
    }


def _find_static_address(claim: MachineClaim, template: HypervisorMachineTemplate) -> str:
    info = claim.status.network_info
    if info is None or choose_network(claim, template).mode != "static":
        return ""
    return info.static_address or info.ip_address


def list_name_servers(
    claim: MachineClaim, template: HypervisorMachineTemplate, cluster: HypervisorCluster
) -> tuple[str, ...]:
    """The name servers of a machine."""
    static = choose_network(claim, template).static_config
    if static is not None and static.dns:
        return static.dns
    return cluster.spec.dns.servers if cluster.spec.dns is not None else ()


def merge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two documents: lists are appended, maps merged, other values of the second win."""
    merged = dict(first)
    for key, value in second.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            merged[key] = [*before, *value]
        else:
            merged[key] = value
    return merged


def _render_network_data(
    claim: MachineClaim, template: HypervisorMachineTemplate, cluster: HypervisorCluster
) -> str:
    network, address = choose_network(claim, template), _find_static_address(claim, template)
    device: dict[str, Any] = {"match": {"name": "e*"}}
    if address:
        static = network.static_config
        device |= {"dhcp4": False, "addresses": [address]}
        if static is not None and static.gateway:
            device["routes"] = [{"to": "default", "via": static.gateway}]
        servers = list(list_name_servers(claim, template, cluster))
        search = list(network.dns.search) if network.dns is not None else []
        if servers or search:
            device["nameservers"] = {"addresses": servers, "search": search}
    else:
        device["dhcp4"] = True
        if network.dhcp is not None and network.dhcp.client_identifier == "mac":
            device["dhcp-identifier"] = "mac"
        if network.dhcp is not None and network.dhcp.send_hostname:
            device["dhcp4-overrides"] = {"send-hostname": True}
    return yaml.dump({"version": 2, "ethernets": {"primary": device}})


def _read(field: str, text: str, known: Mapping[str, str]) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = yaml.load(_substitute(text, known))
    except yaml.YamlError as error:
        raise InvalidCloudInit(f"spec.{field} is not YAML: {error}") from error
    if not isinstance(found, dict):
        raise InvalidCloudInit(f"spec.{field} must be a map, such as a cloud-config document")
    return found


def _substitute(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: known.get(match[1], match[0]), text)
