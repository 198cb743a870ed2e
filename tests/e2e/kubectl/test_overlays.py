"""Overlays build with kubectl and have the names that existing guides use."""

import subprocess
from pathlib import Path

from quarterdeck.kit import yaml
from quarterdeck.testing import programs

OVERLAYS = Path(__file__).parents[3] / "config/overlays"


def test_the_fleet_management_operator_has_its_own_names() -> None:
    name = "fleet-management-operator"
    command = [programs.require("kubectl"), "kustomize", str(OVERLAYS / name)]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {(each["kind"], each["metadata"]["name"]): each for each in yaml.load_all(built)}
    manager = found["Deployment", f"{name}-controller-manager"]
    assert manager["metadata"]["namespace"] == f"{name}-system"
    assert ("Namespace", f"{name}-system") in found
    (container,) = manager["spec"]["template"]["spec"]["containers"]
    assert container["args"][:3] == ["run", "--operators", "pipelines"]
    secrets = {
        each["valueFrom"]["secretKeyRef"]["name"]
        for each in container["env"]
        if "secretKeyRef" in each["valueFrom"]
    }
    assert secrets == {"fleet-management-credentials"}
