"""`rbac.authorization.k8s.io/v1`: who may do what."""

import msgspec

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.selectors import LabelSelector

GROUP = "rbac.authorization.k8s.io"


class PolicyRule(Struct, frozen=True, kw_only=True):
    """Verbs on resources or on paths."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(name="nonResourceURLs", default=())


class Subject(Struct, frozen=True, kw_only=True):
    """A user, a group or a service account."""

    kind: str
    name: str
    api_group: str = ""
    namespace: str = ""


class RoleRef(Struct, frozen=True, kw_only=True):
    """The role that is granted."""

    kind: str
    name: str
    api_group: str = GROUP


class AggregationRule(Struct, frozen=True, kw_only=True):
    """Cluster roles whose rules are collected."""

    cluster_role_selectors: tuple[LabelSelector, ...] = ()


def _info(kind: str, plural: str, *, scope: Scope) -> KindInfo:
    return KindInfo(
        group=GROUP,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        scope=scope,
        subresource_status=False,
    )


class Role(Object, frozen=True, kw_only=True):
    """What may be done within a namespace."""

    KIND = _info("Role", "roles", scope=Scope.NAMESPACED)
    rules: tuple[PolicyRule, ...] = ()


class ClusterRole(Object, frozen=True, kw_only=True):
    """What may be done everywhere."""

    KIND = _info("ClusterRole", "clusterroles", scope=Scope.CLUSTER)
    rules: tuple[PolicyRule, ...] = ()
    aggregation_rule: AggregationRule | None = None


class RoleBinding(Object, frozen=True, kw_only=True):
    """Who has a role within a namespace."""

    KIND = _info("RoleBinding", "rolebindings", scope=Scope.NAMESPACED)
    role_ref: RoleRef
    subjects: tuple[Subject, ...] = ()


class ClusterRoleBinding(Object, frozen=True, kw_only=True):
    """Who has a role everywhere."""

    KIND = _info("ClusterRoleBinding", "clusterrolebindings", scope=Scope.CLUSTER)
    role_ref: RoleRef
    subjects: tuple[Subject, ...] = ()


KINDS: tuple[type[Object], ...] = (Role, ClusterRole, RoleBinding, ClusterRoleBinding)
