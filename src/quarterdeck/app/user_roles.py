"""ClusterRoles for the people who use our kinds: admin, editor and viewer of each.

They carry the aggregation labels, so that users with `admin`, `edit` or `view` in a namespace get
them without any binding.
"""

from typing import Any

from quarterdeck.meta.kinds import KindInfo

READ = ("get", "list", "watch")
EDIT = ("create", "delete", "get", "list", "patch", "update", "watch")

ROLES = {"admin": ("*",), "editor": EDIT, "viewer": READ}
"""Verbs of each role."""

AGGREGATES_TO = {"admin": ("admin",), "editor": ("edit",), "viewer": ("view",)}
"""Built-in roles that include each role."""

CONSOLES = {"MachineClaim": ("console",)}
"""Subresources that exist only for authorization by the hub; the API server serves none."""


def build_manifest(info: KindInfo, role: str) -> dict[str, Any]:
    """One ClusterRole."""
    rules = [_build_rule(info, info.plural, ROLES[role])]
    if info.subresource_status:
        rules.append(_build_rule(info, f"{info.plural}/status", ("get",)))
    if info.scale is not None:
        rules.append(_build_rule(info, f"{info.plural}/scale", _scale_verbs(role)))
    if role != "viewer":  # a console can show secrets
        extra = CONSOLES.get(info.kind, ())
        rules += [_build_rule(info, f"{info.plural}/{each}", ("get",)) for each in extra]
    labels = {
        f"rbac.authorization.k8s.io/aggregate-to-{name}": "true" for name in AGGREGATES_TO[role]
    }
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{info.kind.lower()}-{role}-role", "labels": labels},
        "rules": rules,
    }


def _scale_verbs(role: str) -> tuple[str, ...]:
    return ("get",) if role == "viewer" else ("get", "patch", "update")


def _build_rule(info: KindInfo, resource: str, verbs: tuple[str, ...]) -> dict[str, Any]:
    return {"apiGroups": [info.group], "resources": [resource], "verbs": list(verbs)}
