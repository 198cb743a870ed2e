"""The roles and bindings every cluster has, and how they are kept up to date. Pure.

The table beside this module is written by `tools/bootstrap_policy.py`. At start, missing rules and
subjects are added, and those that an administrator added are kept; an object with the annotation
`rbac.authorization.kubernetes.io/autoupdate: "false"` is left alone.
"""

import importlib.resources
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from quarterdeck.server.authorization.policy_rule import parse_rules, to_json
from quarterdeck.server.authorization.rbac.coverage import find_missing

GROUP = "rbac.authorization.k8s.io"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {AUTOUPDATE: "true"}

RESOURCES = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}


def default_objects() -> Iterator[dict[str, Any]]:
    """Default roles and bindings as whole objects, roles of a kind before their bindings."""
    text = importlib.resources.files(__package__).joinpath("policy.json").read_bytes()
    for entry in msgspec.json.decode(text):
        metadata: dict[str, Any] = {"name": entry.pop("name")}
        if "namespace" in entry:
            metadata["namespace"] = entry.pop("namespace")
        metadata["labels"] = {**_LABELS, **entry.pop("labels", {})}
        metadata["annotations"] = dict(_ANNOTATIONS)
        kind = entry.pop("kind")
        if kind in ("Role", "ClusterRole"):
            entry.setdefault("rules", None)
        yield {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **entry}


def merge_role(existing: dict[str, Any], default: dict[str, Any]) -> dict[str, Any] | None:
    """Add missing default rules, labels and annotations to a role; None if nothing changes."""
    if not _is_managed(existing):
        return None
    merged = _merge_metadata(existing, default)
    if default.get("aggregationRule") is not None:
        selectors = _get_selectors(existing)
        lost = [each for each in _get_selectors(default) if each not in selectors]
        if lost:
            merged["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *lost]}
    else:
        held = parse_rules(existing.get("rules"))
        missing = find_missing(held, parse_rules(default.get("rules")))
        if missing:
            rules = [*(existing.get("rules") or ()), *(to_json(rule) for rule in missing)]
            merged["rules"] = rules
    return merged if merged != existing else None


def merge_binding(existing: dict[str, Any], default: dict[str, Any]) -> dict[str, Any] | None:
    """Add missing default subjects, labels and annotations to a binding; None if unchanged."""
    if not _is_managed(existing):
        return None
    merged = _merge_metadata(existing, default)
    subjects = existing.get("subjects") or []
    lost = [each for each in default.get("subjects") or () if each not in subjects]
    if lost:
        merged["subjects"] = [*subjects, *lost]
    return merged if merged != existing else None


def _is_managed(value: dict[str, Any]) -> bool:
    annotations = value["metadata"].get("annotations") or {}
    return annotations.get(AUTOUPDATE) != "false"


def _merge_metadata(existing: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Add missing default labels and annotations; existing values are kept."""
    metadata = {**existing["metadata"]}
    for member in ("labels", "annotations"):
        metadata[member] = {**default["metadata"][member], **(metadata.get(member) or {})}
    return {**existing, "metadata": metadata}


def _get_selectors(role: dict[str, Any]) -> Sequence[dict[str, Any]]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
