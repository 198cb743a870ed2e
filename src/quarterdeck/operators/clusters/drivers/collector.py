"""Applies a collector to a managed cluster, reads its token, and deletes it."""

import contextlib
from collections.abc import Iterable

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.client.client import Client
from quarterdeck.client.interfaces import PatchType
from quarterdeck.engine.target import Target, guess_resource
from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.operators.clusters.collector_objects import (
    AUTHORITY,
    NAME,
    NAMESPACE,
    TOKEN_SECRET,
    CollectorPlan,
    build_objects,
)
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import DeleteOptions, ListOptions, PatchOptions
from quarterdeck.wire.status import ApiError, NotFound

FIELD_MANAGER = "quarterdeck-hub"
_APPLY = PatchOptions(field_manager=FIELD_MANAGER, force=True)
_RBAC = ("rbac.authorization.k8s.io", "v1")
_PATHS = {
    "Namespace": ResourcePath("", "v1", "namespaces"),
    "ServiceAccount": ResourcePath("", "v1", "serviceaccounts", NAMESPACE),
    "ClusterRole": ResourcePath(*_RBAC, "clusterroles"),
    "ClusterRoleBinding": ResourcePath(*_RBAC, "clusterrolebindings"),
    "Secret": ResourcePath("", "v1", "secrets", NAMESPACE),
    "ConfigMap": ResourcePath("", "v1", "configmaps", NAMESPACE),
    "Deployment": ResourcePath("apps", "v1", "deployments", NAMESPACE),
}
_MAX_PODS = 10
_STARTING = ("ContainerCreating", "PodInitializing")
_REMOVED = (
    *(("Deployment", NAME), ("Secret", TOKEN_SECRET), ("ConfigMap", AUTHORITY)),
    *(("ClusterRoleBinding", NAME), ("ClusterRole", NAME), ("ServiceAccount", NAME)),
)
"""Objects to delete, in order: the Deployment first, then its permissions. The namespace stays,
because the service account of the hub may be in it."""


class _SecretData(msgspec.Struct, frozen=True):
    data: dict[str, bytes] = {}


async def read_token(client: Client) -> Secret[str] | None:
    """The token in the collector's Secret; None if there is none.

    Raises:
        ApiError, ClientError: if the Secret cannot be read.
    """
    try:
        found = await client.raw.get(_PATHS["Secret"]._replace(name=TOKEN_SECRET))
        token = msgspec.json.decode(found, type=_SecretData).data.get("token", b"")
    except (NotFound, msgspec.DecodeError):
        return None
    return Secret(token.decode(errors="replace")) if token else None


async def apply_objects(client: Client, plan: CollectorPlan) -> None:
    """Apply the objects of a plan by server-side apply; what already matches does not change.

    Raises:
        ApiError, ClientError: if the cluster refuses.
    """
    for document in build_objects(plan):
        path = _PATHS[document["kind"]]._replace(name=document["metadata"]["name"])
        await client.raw.patch(path, json.encode(document), PatchType.APPLY, _APPLY)


async def find_pod_problem(client: Client) -> str:
    """What keeps the collector's pod from running; empty if nothing is known.

    Raises:
        ApiError, ClientError: if the pods cannot be listed.
    """
    path = ResourcePath("", "v1", "pods", NAMESPACE)
    selector = f"app.kubernetes.io/name={NAME}"
    page = await client.raw.list(path, ListOptions(label_selector=selector, limit=_MAX_PODS))
    for item in page.items:
        pod = json.decode(item)
        status = pod.get("status") or {}
        for each in status.get("containerStatuses") or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason", "ContainerCreating") not in _STARTING:
                text = " ".join(filter(None, (waiting["reason"], waiting.get("message", ""))))
                return f"pod {pod['metadata']['name']}: {text}"
        for each in status.get("conditions") or ():
            if each.get("type") == "PodScheduled" and each.get("status") == "False":
                return f"pod {pod['metadata']['name']} is not scheduled: {each.get('message', '')}"
    return ""


async def delete_objects(client: Client) -> None:
    """Delete the collector's objects from a cluster; objects that do not exist are skipped.

    Raises:
        ApiError, ClientError: if the cluster refuses.
    """
    options = DeleteOptions(propagation_policy="Background")
    for kind, name in _REMOVED:
        with contextlib.suppress(NotFound):
            await client.raw.delete(_PATHS[kind]._replace(name=name), options)


async def discover_resources(client: Client, sources: Iterable[MetricSource]) -> tuple[GVR, ...]:
    """The resources that MetricSources read, with the plural names from the cluster's discovery.

    Raises:
        ClientError: if the cluster does not answer.
    """
    found = set()
    for each in sources:
        target = Target.from_spec(each.spec.source)
        resource = target.resource
        if not resource:
            try:
                kind = GVK(target.group, target.version, target.kind)
                resource = (await client.raw.discover_resource(kind)).gvr.resource
            except ApiError:  # not served here, or not yet
                resource = guess_resource(target.kind)
        found.add(GVR(target.group, target.version, resource))
    return tuple(sorted(found))
