"""Simulated providers of clusters: Crossplane's claims and Cluster API's objects.

Faults: error (ReconcileError), error-once (the first attempt only), unavailable, never, no-secret,
bad-kubeconfig, expired (a token that the target refuses), hang-delete.
"""

import base64
import hashlib
from typing import Any
from urllib.parse import urlsplit

import msgspec

from quarterdeck.apis.core.config import Secret
from quarterdeck.client import ClusterConfig
from quarterdeck.client.factory import ClusterFactory
from quarterdeck.kit import rfc3339, yaml
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments.foreign import (
    CAPI_SECRET_TYPE,
    CROSSPLANE_SECRET_TYPE,
    ClusterRequest,
    ForeignCondition,
)
from quarterdeck.operators.experiments.simulators.behavior import (
    Behavior,
    Delays,
    Timeline,
    read_behavior,
)
from quarterdeck.runtime import Context, RequeueAfter, Result, Waiting
from quarterdeck.wire.status import NotFound

CLAIM_FINALIZER = "finalizer.apiextensions.crossplane.io"
CAPI_FINALIZER = "cluster.cluster.x-k8s.io"
_SUFFIX = 5
_HANG_S = 3600.0


class CrossplaneSimulator:
    """Fulfils claims of one kind."""

    def __init__(
        self,
        factory: ClusterFactory,
        composite: type[ClusterRequest],
        *,
        namespace: str,
        delays: Delays,
        timeline: Timeline,
    ) -> None:
        self._factory = factory
        self._composite = composite
        self._namespace = namespace
        self._delays = delays
        self._timeline = timeline

    async def reconcile(self, claim: ClusterRequest, ctx: Context[ClusterRequest]) -> Result | None:
        """Create the composite resource; after the delay the cluster, its Secret, and Ready."""
        behavior = await read_behavior(claim, ctx, "cluster", self._delays.cluster)
        name = build_composite_name(claim)
        if claim.spec.resource_ref is None:
            await self._bind(claim, ctx, name)
        if has_fault(behavior, claim, "error"):
            _report(ctx, ("Synced", "False", "ReconcileError", "cannot create the network: quota"))
            return None
        synced = ("Synced", "True", "ReconcileSuccess", "")
        if behavior.fault == "unavailable":
            _report(ctx, synced, ("Ready", "False", "Unavailable", "the node pool has no nodes"))
            return None
        left_s = behavior.delay_s - self._timeline.elapsed_s(claim.metadata.uid)
        if behavior.fault == "never" or left_s > 0:
            _report(ctx, synced, ("Ready", "False", "Creating", "the cluster is being created"))
            return None if behavior.fault == "never" else RequeueAfter(left_s)
        config = await self._factory.create(name)
        if behavior.fault != "no-secret":
            await _write_secret(
                ctx,
                Key(self._namespace, f"{name}-cluster-conn"),
                {"kubeconfig": build_kubeconfig(config, behavior.fault)},
                CROSSPLANE_SECRET_TYPE,
            )
        ctx.status.set(endpoint=urlsplit(config.server).netloc)
        _report(ctx, synced, ("Ready", "True", "Available", ""))
        return None

    async def _bind(self, claim: ClusterRequest, ctx: Context[Any], name: str) -> None:
        info = self._composite.KIND
        await ctx.api.apply(
            self._composite,
            {
                "apiVersion": info.api_version,
                "kind": info.kind,
                "metadata": {
                    "name": name,
                    "labels": {
                        "crossplane.io/claim-name": claim.metadata.name,
                        "crossplane.io/claim-namespace": claim.metadata.namespace,
                    },
                },
                "spec": {"claimRef": {"name": claim.metadata.name}},
            },
        )
        reference = {"apiVersion": info.api_version, "kind": info.kind, "name": name}
        await ctx.api.merge(type(claim), claim.key, {"spec": {"resourceRef": reference}})

    async def delete(self, claim: ClusterRequest, ctx: Context[ClusterRequest]) -> None:
        """Delete the cluster, its Secret and the composite resource."""
        behavior = await read_behavior(claim, ctx, "cluster", self._delays.cluster)
        _report(ctx, ("Ready", "False", "Deleting", ""))
        _wait_deletion(self._timeline, claim, behavior, self._delays.deletion)
        name = build_composite_name(claim)
        await self._factory.delete(name)
        await _delete(ctx, Secret, Key(self._namespace, f"{name}-cluster-conn"))
        await _delete(ctx, self._composite, Key("", name))
        self._timeline.forget(claim.metadata.uid)


class CapiSimulator:
    """Fulfils requests of Cluster API."""

    def __init__(self, factory: ClusterFactory, *, delays: Delays, timeline: Timeline) -> None:
        self._factory = factory
        self._delays = delays
        self._timeline = timeline

    async def reconcile(
        self, request: ClusterRequest, ctx: Context[ClusterRequest]
    ) -> Result | None:
        """Report Provisioning; after the delay set the endpoint, the Secret and readiness."""
        behavior = await read_behavior(request, ctx, "cluster", self._delays.cluster)
        if has_fault(behavior, request, "error"):
            ctx.status.set(phase="Failed", failure_reason="CreateError", failure_message="no quota")
            return None
        left_s = behavior.delay_s - self._timeline.elapsed_s(request.metadata.uid)
        if behavior.fault == "never" or left_s > 0:
            ctx.status.set(phase="Provisioning")
            return None if behavior.fault == "never" else RequeueAfter(left_s)
        config = await self._factory.create(_capi_cluster(request))
        where = urlsplit(config.server)
        endpoint = {"host": where.hostname, "port": where.port or 443}
        if request.spec.control_plane_endpoint is None:
            patch = {"spec": {"controlPlaneEndpoint": endpoint}}
            await ctx.api.merge(type(request), request.key, patch)
        if behavior.fault != "no-secret":
            namespace, name = request.key
            await _write_secret(
                ctx,
                Key(namespace, f"{name}-kubeconfig"),
                {"value": build_kubeconfig(config, behavior.fault)},
                CAPI_SECRET_TYPE,
            )
        ctx.status.set(phase="Provisioned", control_plane_ready=True, ready=True)
        return None

    async def delete(self, request: ClusterRequest, ctx: Context[ClusterRequest]) -> None:
        """Delete the cluster and its Secret."""
        behavior = await read_behavior(request, ctx, "cluster", self._delays.cluster)
        ctx.status.set(phase="Deleting", ready=False)
        _wait_deletion(self._timeline, request, behavior, self._delays.deletion)
        await self._factory.delete(_capi_cluster(request))
        await _delete(ctx, Secret, Key(request.key.namespace, f"{request.key.name}-kubeconfig"))
        self._timeline.forget(request.metadata.uid)


def build_composite_name(claim: ClusterRequest) -> str:
    """The claim's name and five characters, as Crossplane names composite resources."""
    digest = hashlib.sha256(claim.metadata.uid.encode()).digest()
    suffix = base64.b32encode(digest).decode().lower()[:_SUFFIX]
    return f"{claim.metadata.name}-{suffix}"


def has_fault(behavior: Behavior, request: ClusterRequest, fault: str) -> bool:
    """Whether a fault applies; with `-once` only to the first attempt."""
    is_first = not request.metadata.name.rpartition("-")[2].startswith("r")
    return behavior.fault == fault or (behavior.fault == f"{fault}-once" and is_first)


def build_kubeconfig(config: ClusterConfig, fault: str = "") -> str:
    """Build a kubeconfig for a cluster, or an unusable one by a fault."""
    if fault == "bad-kubeconfig":
        return "clusters: [this is not a kubeconfig"
    user: dict[str, Any] = {
        "client-certificate-data": _encode_base64(config.client_certificate.read()),
        "client-key-data": _encode_base64(config.client_key.read()),
    }
    if config.token is not None:
        user["token"] = config.token.reveal()
    if fault == "expired":
        user = {"token": "expired"}
    cluster: dict[str, Any] = {"server": config.server}
    if config.certificate_authority:
        cluster["certificate-authority-data"] = _encode_base64(config.certificate_authority.read())
    return yaml.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "target",
            "clusters": [{"name": "target", "cluster": cluster}],
            "users": [{"name": "client", "user": {k: v for k, v in user.items() if v}}],
            "contexts": [{"name": "target", "context": {"cluster": "target", "user": "client"}}],
        }
    )


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _capi_cluster(request: ClusterRequest) -> str:
    return f"{request.metadata.namespace}-{request.metadata.name}"


def _report(ctx: Context[Any], *conditions: tuple[str, str, str, str]) -> None:
    """Set conditions; the transition time changes only with the status."""
    before = {each.type: each for each in ctx.obj.status.conditions}
    now = rfc3339.format_time(ctx.now())
    found = []
    for type_, status, reason, message in conditions:
        old = before.get(type_)
        since = old.last_transition_time if old is not None and old.status == status else now
        found.append(
            ForeignCondition(
                type=type_,
                status=status,
                reason=reason,
                message=message,
                last_transition_time=since,
            )
        )
    ctx.status.current = msgspec.structs.replace(ctx.status.current, conditions=tuple(found))


def _wait_deletion(
    timeline: Timeline, obj: ClusterRequest, behavior: Behavior, delay_s: float
) -> None:
    if behavior.fault == "hang-delete":
        raise Waiting("Deleting", "the provider does not answer", after_s=_HANG_S)
    left_s = delay_s - timeline.elapsed_s(obj.metadata.uid, "delete")
    if left_s > 0:
        raise Waiting("Deleting", "the cluster is being deleted", after_s=left_s)


async def _write_secret(ctx: Context[Any], key: Key, data: dict[str, str], type_: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "type": type_,
        "data": {name: _encode_base64(value.encode()) for name, value in data.items()},
    }
    await ctx.api.apply(Secret, document)


async def _delete(ctx: Context[Any], kind: type[Any], key: Key) -> None:
    try:
        found = await ctx.api.get_live(kind, key)
    except NotFound:
        return
    await ctx.delete(found)
