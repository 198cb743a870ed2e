"""Connects a cluster to the hub: a service account that may only read, its token, a connection.

The role names what the hub collects, and the kinds of the MetricSources that are on the hub now;
Secrets are not among them unless a MetricSource asks for them.
"""

import base64
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection, MetricSource
from quarterdeck.app import definitions
from quarterdeck.app.connection_manifests import build_connection
from quarterdeck.client.client import Client
from quarterdeck.engine.target import Target, guess_resource
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.deadline import run_within
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.collector_objects import NAME as COLLECTOR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, Expired, NotFound, ServerTimeout, Timeout

NAMESPACE = "clusterpulse-system"
ACCOUNT = "clusterpulse-hub"
TOKEN_SECRET = "clusterpulse-hub-token"
_SECRETS = GVR("", "v1", "secrets")
_WAIT_S = 10.0
"""Time limit for the cluster's token controller, which usually takes less than a second."""
_YEAR_S = 365 * 86_400
_COLLECTED = {
    "": (
        *("nodes", "pods", "namespaces", "services", "configmaps"),
        *("persistentvolumeclaims", "persistentvolumes", "events"),
    ),
    "apps": ("deployments", "statefulsets", "daemonsets", "replicasets"),
    "networking.k8s.io": ("ingresses",),
    "metrics.k8s.io": ("nodes", "pods"),
    "config.openshift.io": ("clusterversions", "clusteroperators"),
    "route.openshift.io": ("routes",),
    "operators.coreos.com": ("subscriptions", "clusterserviceversions"),
}
"""What the hub reads of every cluster, by API group."""


_WRITE = ["create", "delete", "get", "patch"]
DEPLOY_RULES: tuple[dict[str, Any], ...] = (
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]},
    {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "resourceNames": [NAMESPACE],
        "verbs": ["patch"],
    },
    {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles", "clusterrolebindings"],
        "verbs": ["create"],
    },
    {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles", "clusterrolebindings"],
        "resourceNames": [COLLECTOR],
        "verbs": ["delete", "get", "patch"],
    },
)
"""Additional cluster-wide permissions of the hub to deploy a collector. Kubernetes lets the hub
bind the collector's role because the hub has all permissions of that role itself."""


class Enrollment(msgspec.Struct, frozen=True, kw_only=True):
    """Name and settings of a cluster to connect."""

    name: str
    namespace: str = "default"
    display_name: str = ""
    labels: Mapping[str, str] = {}
    insecure: bool = False
    ingester_address: str = ""
    """Where a collector pushes to; empty means that the hub reads the cluster."""


class Credentials(msgspec.Struct, frozen=True):
    """The credentials for the hub; the token is stored only on the two clusters."""

    token: str
    authority: str
    expires_at: str = ""
    """When the token stops working; empty if it lasts as long as its Secret."""

    def __repr__(self) -> str:
        return "Credentials(***)"


async def enroll(
    cluster: Client, hub: Client, wanted: Enrollment, *, clock: Clock | None = None
) -> Credentials:
    """Create the service account on the cluster; returns its token.

    Raises:
        ApiError: if that is forbidden, or the cluster issues no token.
    """
    rules = build_rules(await _list_sources(hub))
    manifests: tuple[dict[str, Any], ...] = build_account_manifests(rules)
    if wanted.ingester_address:
        manifests = (*build_account_manifests([*rules, *DEPLOY_RULES]), *_build_deploy_role())
    await definitions.apply(cluster.raw, manifests)
    return await _read_token(cluster, clock or SystemClock())


async def connect_cluster(
    hub: Client, wanted: Enrollment, endpoint: str, credentials: Credentials
) -> None:
    """Create the Secret and the ClusterConnection on the hub."""
    secret = {"token": credentials.token}
    if credentials.authority and not wanted.insecure:
        secret["ca.crt"] = credentials.authority
    spec: dict[str, Any] = {"displayName": wanted.display_name or wanted.name}
    if wanted.labels:
        spec["labels"] = dict(wanted.labels)
    if wanted.insecure:
        spec["insecureSkipTLSVerify"] = True
    if wanted.ingester_address:
        spec |= {"collectionMode": "push", "ingesterAddress": wanted.ingester_address}
    manifests = build_connection(wanted.name, endpoint, secret, namespace=wanted.namespace, **spec)
    await definitions.apply(hub.raw, manifests)
    await _set_secret_owner(hub, manifests[0], wanted)


async def _set_secret_owner(hub: Client, secret: dict[str, Any], wanted: Enrollment) -> None:
    """Make the connection the owner of the Secret, so that the token is deleted with it."""
    connection = await hub.get(ClusterConnection, wanted.name, wanted.namespace)
    owner = {
        "apiVersion": connection.KIND.api_version,
        "kind": connection.KIND.kind,
        "name": connection.metadata.name,
        "uid": connection.metadata.uid,
    }
    metadata = {**secret["metadata"], "ownerReferences": [owner]}
    await definitions.apply(hub.raw, [{**secret, "metadata": metadata}])


def build_account_manifests(rules: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Namespace, service account, role, binding and token Secret on the cluster."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": ACCOUNT}}
    where = {"namespace": NAMESPACE}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, **where}},
        {**role, "kind": "ClusterRole", "rules": rules},
        {
            **role,
            "kind": "ClusterRoleBinding",
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": ACCOUNT,
            },
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, **where}],
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": TOKEN_SECRET,
                **where,
                "annotations": {"kubernetes.io/service-account.name": ACCOUNT},
            },
            "type": "kubernetes.io/service-account-token",
        },
    )


def _build_deploy_role() -> tuple[dict[str, Any], ...]:
    """The Role and RoleBinding of the hub in the collector's namespace."""
    api = "rbac.authorization.k8s.io"
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    return (
        {
            "apiVersion": f"{api}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps", "secrets", "serviceaccounts"],
                    "verbs": _WRITE,
                },
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": _WRITE},
            ],
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    )


def build_rules(sources: Iterable[MetricSource]) -> list[dict[str, Any]]:
    """The least that the hub must read: what it always collects, and the kinds of the sources."""
    groups = {group: set(resources) for group, resources in _COLLECTED.items()}
    for each in sources:
        target = Target.from_spec(each.spec.source)
        resource = target.resource or guess_resource(target.kind)
        groups.setdefault(target.group, set()).add(resource)
    return [
        {"apiGroups": [group], "resources": sorted(found), "verbs": ["get", "list", "watch"]}
        for group, found in groups.items()
    ]


async def _list_sources(hub: Client) -> list[MetricSource]:
    try:
        return await hub.list(MetricSource)
    except NotFound:
        return []


async def _read_token(cluster: Client, clock: Clock) -> Credentials:
    """The token of the Secret, once a controller has filled it; else a requested token."""
    authority = cluster.config.certificate_authority.read().decode(errors="replace")
    try:
        return await run_within(clock, _WAIT_S, _wait_filled(cluster, authority))
    except TimeoutError:
        return await _request_token(cluster, authority)


async def _wait_filled(cluster: Client, authority: str) -> Credentials:
    """Read the Secret, then watch it from there on.

    A watch from "now" may end with a 504 where the server's cache of Secrets lags behind etcd.
    """
    secrets = cluster.resource(_SECRETS)
    while True:
        secret = await secrets.get(TOKEN_SECRET, NAMESPACE)
        if (found := _read_credentials(secret, authority)) is not None:
            return found
        options = ListOptions(
            field_selector=f"metadata.name={TOKEN_SECRET}",
            resource_version=secret["metadata"]["resourceVersion"],
        )
        with contextlib.suppress(Expired, ServerTimeout, Timeout):
            async with secrets.watch(NAMESPACE, options) as events:
                async for _, changed in events:
                    if (found := _read_credentials(changed, authority)) is not None:
                        return found


def _read_credentials(secret: Mapping[str, Any], authority: str) -> Credentials | None:
    """The credentials in a Secret; None until it is filled."""
    data = secret.get("data") or {}
    if not data.get("token"):
        return None
    found = base64.b64decode(data.get("ca.crt", "")).decode()
    return Credentials(base64.b64decode(data["token"]).decode(), authority or found)


async def _request_token(cluster: Client, authority: str) -> Credentials:
    """Request a token that expires, from a cluster that does not fill token Secrets."""
    path = ResourcePath("", "v1", "serviceaccounts", NAMESPACE, ACCOUNT, "token")
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _YEAR_S},
    }
    answer = json.decode(await cluster.raw.create(path, json.encode(body)))
    status = answer.get("status") or {}
    if not status.get("token"):
        raise ApiError(f"the cluster issued no token for the service account {NAMESPACE}/{ACCOUNT}")
    expires_at = str(status.get("expirationTimestamp") or "in a year")
    return Credentials(str(status["token"]), authority, expires_at)
