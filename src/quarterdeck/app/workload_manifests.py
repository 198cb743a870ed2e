"""Builds the objects around each of our Deployments: permissions, policies and ports. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.app import pod_security

Document = Mapping[str, Any]

RBAC = "rbac.authorization.k8s.io"
SCRAPERS: Document = {"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}
"""Namespaces that may read metrics."""


class Workload(NamedTuple):
    """A Deployment; its account and the objects around it have its name and its labels."""

    name: str
    namespace: str
    labels: Mapping[str, str]

    def build_object(self, api_version: str, kind: str, name: str = "") -> dict[str, Any]:
        """The apiVersion, kind and metadata of an object in the namespace."""
        return {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {
                "name": name or self.name,
                "namespace": self.namespace,
                "labels": dict(self.labels),
            },
        }

    def build_cluster_role(self, rules: Sequence[Document], name: str = "") -> Document:
        """A ClusterRole with these rules."""
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name or self.name, "labels": dict(self.labels)},
            "rules": [*rules],
        }

    def bind_cluster_role(self, role: str = "", *, account: str = "") -> Document:
        """Bind a ClusterRole to the workload's account, or to another account of its namespace."""
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role or self.name, "labels": dict(self.labels)},
            **self._build_binding("ClusterRole", role or self.name, account or self.name),
        }

    def bind_role(self, role: str = "") -> Document:
        """Bind a Role of the namespace to the workload's account."""
        return {
            **self.build_object(f"{RBAC}/v1", "RoleBinding", role),
            **self._build_binding("Role", role or self.name, self.name),
        }

    def _build_binding(self, kind: str, role: str, account: str) -> Document:
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        return {
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [subject],
        }

    def build_deployment(
        self, container: Document, volumes: Sequence[Document], *, grace_s: int | None = None
    ) -> dict[str, Any]:
        """Two replicas of a pod with one container; it has `grace_s` to end, or 30 s."""
        grace = {} if grace_s is None else {"terminationGracePeriodSeconds": grace_s}
        pod = {
            "serviceAccountName": self.name,
            "enableServiceLinks": False,  # QUARTERDECK_*_PORT are settings of ours
            **grace,
            "securityContext": pod_security.POD,
            "containers": [container],
            "volumes": [*volumes],
        }
        return {
            **self.build_object("apps/v1", "Deployment"),
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": dict(self.labels)},
                "template": {"metadata": {"labels": dict(self.labels)}, "spec": pod},
            },
        }

    def build_network_policy(self, *ingress: Document) -> Document:
        """Close the pods to all but these connections."""
        return {
            **self.build_object("networking.k8s.io/v1", "NetworkPolicy"),
            "spec": {
                "podSelector": {"matchLabels": dict(self.labels)},
                "policyTypes": ["Ingress"],
                "ingress": [*ingress],
            },
        }

    def build_disruption_budget(self) -> Document:
        """Allow one unavailable pod: a node with a single replica can be drained, and of several
        replicas only one is evicted at a time.
        """
        return {
            **self.build_object("policy/v1", "PodDisruptionBudget"),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(self.labels)}},
        }


def build_rule(group: str, resource: str, *verbs: str) -> Document:
    """A rule of a role."""
    return {"apiGroups": [group], "resources": [resource], "verbs": [*verbs]}


def allow_port(port: int, *sources: Document) -> Document:
    """Connections to a TCP port, from anywhere if no sources are given."""
    ports = [{"port": port, "protocol": "TCP"}]
    return {"from": [*sources], "ports": ports} if sources else {"ports": ports}


def build_tcp_port(name: str, port: int) -> Document:
    """A port of a Service that leads to the container's port of the same name."""
    return {"name": name, "port": port, "protocol": "TCP", "targetPort": name}
