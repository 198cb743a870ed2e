"""Manifests of the machines operator: on the simulator, so that they run anywhere; on Proxmox VE
and on local QEMU, to start from.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.hypervisor.names import GROUP

API = f"{GROUP}/v1alpha1"
ENDPOINT = "mock://lab"
FLEET = "web"
NEXT_IMAGE = "debian-13"
"""The image that the demo rolls its fleet to."""


def _build_object(kind: str, name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _build_template(name: str, cpu: int) -> Mapping[str, Any]:
    return _build_object(
        "HypervisorMachineTemplate",
        name,
        {
            "hypervisorClusterRef": {"name": "lab"},
            "template": {"mock": {"templateName": "simulated"}},
            "resources": {"cpu": cpu, "memory": "2Gi", "disk": "20Gi"},
            "bootstrap": {"method": "none"},
        },
    )


SAMPLES: tuple[Mapping[str, Any], ...] = (
    _build_object(
        "HypervisorCluster",
        "lab",
        {
            "provider": "mock",
            "endpoint": ENDPOINT,
            "nodes": ["sim-1", "sim-2", "sim-3"],
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
        },
    ),
    _build_template("debian-12", 1),
    _build_template(NEXT_IMAGE, 2),
    _build_object("MachineClaim", "workbench", {"templateRef": {"name": "debian-12"}}),
    _build_object(
        "Fleet",
        FLEET,
        {
            "replicas": 3,
            "image": "debian-12",
            "selector": {"app": "web"},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        },
    ),
    _build_object(
        "RunnerPool",
        "ci",
        {
            "templateRef": {"name": "debian-12"},
            "workload": {
                "type": "github-actions",
                "config": {"github": {"organization": "example", "labels": ["linux"]}},
            },
            "scaling": {"minReplicas": 1, "maxReplicas": 4, "scaleDownDelay": "60s"},
        },
    ),
)
"""What `up --demo` applies and `config/samples` holds."""
_PROXMOX: tuple[Mapping[str, Any], ...] = (
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pve-access", "namespace": "default"},
        "stringData": {
            "token-id": "hf@pve!op",
            "token-secret": "the secret of the token",
            "ca": "the SHA-256 fingerprint, or certificates in PEM",
        },
    },
    _build_object(
        "HypervisorCluster",
        "pve",
        {
            "provider": "proxmox",
            "endpoint": "https://pve.example:8006",
            "credentials": {
                "tokenId": {"name": "pve-access", "key": "token-id"},
                "tokenSecret": {"name": "pve-access", "key": "token-secret"},
            },
            "tls": {"caCertificate": {"name": "pve-access", "key": "ca"}},
            "nodes": ["pve1", "pve2"],
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
            "vmidRange": {"start": 20000, "end": 20999},
            "tags": {"team": "platform"},
        },
    ),
    _build_object(
        "HypervisorMachineTemplate",
        "pve-debian-12",
        {
            "hypervisorClusterRef": {"name": "pve"},
            "template": {"proxmox": {"templateName": "debian-12", "linkedClone": True}},
            "resources": {"cpu": 2, "memory": "4Gi", "disk": "32Gi"},
            "bootstrap": {"method": "none"},
            "network": {
                "mode": "static",
                "staticConfig": {
                    "pool": ["10.0.0.10-10.0.0.50/24"],
                    "gateway": "10.0.0.1",
                    "dns": ["10.0.0.1"],
                },
            },
            "cloudInit": {"user": "admin", "sshAuthorizedKeys": ["ssh-ed25519 AAAA… you@host"]},
        },
    ),
)
_QEMU: tuple[Mapping[str, Any], ...] = (
    _build_object(
        "HypervisorCluster",
        "local",
        {
            "provider": "qemu",
            "endpoint": "https://localhost",
            "nodes": ["here"],
            "defaultStorage": "local",
            "defaultNetwork": "user",
        },
    ),
    _build_object(
        "HypervisorMachineTemplate",
        "local-machine",
        {
            "hypervisorClusterRef": {"name": "local"},
            "template": {"libvirt": {"image": "machine"}},
            "resources": {"cpu": 1, "memory": "256Mi", "disk": "1Gi"},
            "bootstrap": {"method": "none"},
        },
    ),
)
OUTSIDE_SAMPLES = (*_PROXMOX, *_QEMU)
"""What to start from on a hypervisor of one's own; in `config/samples` too."""
SAMPLE_FILES: Mapping[str, str] = {
    "lab": "hypervisor_v1alpha1_hypervisorcluster.yaml",
    "debian-12": "hypervisor_v1alpha1_hypervisormachinetemplate.yaml",
    "debian-13": "hypervisor_v1alpha1_hypervisormachinetemplate_next.yaml",
    "workbench": "hypervisor_v1alpha1_machineclaim.yaml",
    "web": "hypervisor_v1alpha1_fleet.yaml",
    "ci": "hypervisor_v1alpha1_runnerpool.yaml",
    "pve-access": "hypervisor_v1alpha1_proxmox_secret.yaml",
    "pve": "hypervisor_v1alpha1_proxmox_hypervisorcluster.yaml",
    "pve-debian-12": "hypervisor_v1alpha1_proxmox_hypervisormachinetemplate.yaml",
    "local": "hypervisor_v1alpha1_qemu_hypervisorcluster.yaml",
    "local-machine": "hypervisor_v1alpha1_qemu_hypervisormachinetemplate.yaml",
}
"""Files whose names existing guides mention."""
