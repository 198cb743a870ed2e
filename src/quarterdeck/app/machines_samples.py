"""Manifests of the machines operator, on the simulator, so that they run anywhere."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.hypervisor.names import GROUP

API = f"{GROUP}/v1alpha1"
ENDPOINT = "mock://lab"
FLEET = "web"
NEXT_IMAGE = "debian-13"
"""The image that the demo rolls its fleet to."""


def _object(kind: str, name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _template(name: str, cpu: int) -> Mapping[str, Any]:
    return _object(
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
    _object(
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
    _template("debian-12", 1),
    _template(NEXT_IMAGE, 2),
    _object("MachineClaim", "workbench", {"templateRef": {"name": "debian-12"}}),
    _object(
        "Fleet",
        FLEET,
        {
            "replicas": 3,
            "image": "debian-12",
            "selector": {"app": "web"},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        },
    ),
    _object(
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
SAMPLE_FILES: Mapping[str, str] = {
    "lab": "hypervisor_v1alpha1_hypervisorcluster.yaml",
    "debian-12": "hypervisor_v1alpha1_hypervisormachinetemplate.yaml",
    "debian-13": "hypervisor_v1alpha1_hypervisormachinetemplate_next.yaml",
    "workbench": "hypervisor_v1alpha1_machineclaim.yaml",
    "web": "hypervisor_v1alpha1_fleet.yaml",
    "ci": "hypervisor_v1alpha1_runnerpool.yaml",
}
"""Files whose names existing guides mention."""
