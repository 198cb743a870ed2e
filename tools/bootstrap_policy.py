"""Writes the roles that every cluster has as a compact table.

    python tools/bootstrap_policy.py FOLDER

FOLDER holds Kubernetes' published test data of its bootstrap policy: `cluster-roles.yaml`,
`cluster-role-bindings.yaml`, `controller-roles.yaml`, `controller-role-bindings.yaml`,
`namespace-roles.yaml` and `namespace-role-bindings.yaml`. Names and rules are taken over, nothing
else; `system:` accounts of controllers that do not exist here keep their roles, because clients
look for them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

FILES = (
    "cluster-roles.yaml",
    "controller-roles.yaml",
    "cluster-role-bindings.yaml",
    "controller-role-bindings.yaml",
    "namespace-roles.yaml",
    "namespace-role-bindings.yaml",
)
TARGET = Path("src/quarterdeck/server/authorization/rbac/policy.json")


def main() -> None:
    folder = Path(sys.argv[1])
    objects = [shrink(each) for name in FILES for each in read(folder / name)]
    lines = ",\n".join(json.dumps(each, separators=(",", ":"), sort_keys=True) for each in objects)
    TARGET.write_text(f"[\n{lines}\n]\n")


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for document in yaml.safe_load_all(path.read_text()):
        found.extend(document["items"] if document["kind"] == "List" else [document])
    return found


def shrink(value: dict[str, Any]) -> dict[str, Any]:
    """Leave out what all of them share."""
    metadata = value["metadata"]
    labels = dict(metadata.get("labels") or {})
    labels.pop("kubernetes.io/bootstrapping", None)
    kept: dict[str, Any] = {"kind": value["kind"], "name": metadata["name"]}
    if metadata.get("namespace"):
        kept["namespace"] = metadata["namespace"]
    if labels:
        kept["labels"] = labels
    for member in ("rules", "aggregationRule", "roleRef", "subjects"):
        if value.get(member) is not None:
            kept[member] = value[member]
    return kept


if __name__ == "__main__":
    main()
