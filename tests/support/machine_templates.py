"""Templates of machines as a user writes them, for tests of single fields."""

from typing import Any

from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.meta.objects import decode


def build_template(**spec: Any) -> HypervisorMachineTemplate:
    """A small template; `spec` has the fields that are tested, under their names in YAML."""
    document = {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorMachineTemplate",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {
            "hypervisorClusterRef": {"name": "lab"},
            "template": {"mock": {}},
            "resources": {"cpu": 1, "memory": "1Gi", "disk": "10Gi"},
            "bootstrap": {"method": "none"},
            **spec,
        },
    }
    return decode(HypervisorMachineTemplate, json.encode(document))
