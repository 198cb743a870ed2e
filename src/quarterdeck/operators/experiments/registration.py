"""Registers clusters: reads the kubeconfig, tests it, and writes Argo CD's cluster Secret."""

from datetime import timedelta
from urllib.parse import urlsplit

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.kit import rfc3339
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import build_owner_reference
from quarterdeck.operators.experiments import argocd, kubeconfig, naming, tailnet
from quarterdeck.operators.experiments.conditions import (
    CLUSTERS_REGISTERED,
    EventReason,
    Reason,
)
from quarterdeck.operators.experiments.foreign import CapiSecretHead, CrossplaneSecretHead
from quarterdeck.operators.experiments.kubeconfig import Connection, KubeconfigError
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.wire.status import NotFound

REASONS = frozenset(
    {Reason.REGISTERING, Reason.REGISTRATION_FAILED, Reason.CONNECTION_SECRET_INVALID}
)
"""Reasons of targets whose cluster is ready and only registration is missing."""
_MOST_REFUSALS = 6
_LONGEST_FACTOR = 30.0


async def register(run: Run, target: Target, secret: Key, *, key: str = "") -> None:
    """Register a ready cluster with Argo CD, or wait for its Secret or its API server.

    Raises:
        ExperimentFailed: if the kubeconfig is invalid, or was refused too often.
    """
    status = run.get_target(target.name)
    if status.next_retry_at and run.now < rfc3339.parse(status.next_retry_at):
        run.requeue_after((rfc3339.parse(status.next_retry_at) - run.now).total_seconds())
        return
    text = await read_kubeconfig(run, target, secret, key=key)
    if text is None:
        message = f"waiting for the kubeconfig in Secret {secret}"
        run.set_target(target.name, reason=str(Reason.REGISTERING), message=message)
        return
    connection = _parse(target, secret, text)
    if await _prepare(run, target, text):
        await _write_secret(run, target, connection)
        await _copy_kubeconfig(run, target, text)
        _finish(run, target, connection, version=await _read_version(run, secret))


async def renew(run: Run, target: Target) -> None:
    """Update Argo CD's Secret of a registered cluster when its kubeconfig has changed.

    Only the metadata of Secrets is watched; a Secret is read when its version has changed.
    """
    status = run.get_target(target.name)
    namespace, _, name = status.connection_secret.partition("/")
    version = await _read_version(run, Key(namespace, name))
    if not version or version == status.connection_version:
        return
    text = await read_kubeconfig(run, target, Key(namespace, name))
    if text is None:
        return
    connection = _parse(target, Key(namespace, name), text)
    await _write_secret(run, target, connection)
    await _copy_kubeconfig(run, target, text)
    if connection.server != status.server:
        address = urlsplit(connection.server).netloc
        run.set_target(target.name, server=connection.server, endpoint=address)
    run.set_target(target.name, connection_version=version)


async def _read_version(run: Run, secret: Key) -> str:
    """The resource version of a connection Secret, from the metadata caches; empty if absent."""
    for kind in (CrossplaneSecretHead, CapiSecretHead):
        head = await run.ctx.find(kind, secret.name, secret.namespace)
        if head is not None:
            return str(head.metadata.resource_version)
    return ""


async def read_kubeconfig(run: Run, target: Target, secret: Key, *, key: str = "") -> bytes | None:
    """The kubeconfig in a Secret; None while there is no such Secret.

    Raises:
        ExperimentFailed: if the Secret holds no kubeconfig.
    """
    try:
        found = await run.ctx.api.get_live(Secret, secret)
    except NotFound:
        return None
    try:
        return kubeconfig.read_secret(found.data, key=key)
    except KubeconfigError as error:
        raise _build_invalid(target, secret, str(error)) from error


async def read_target_kubeconfig(run: Run, target: Target) -> bytes | None:
    """The kubeconfig of a target; None for the hub, and while its Secret does not exist.

    Raises:
        ExperimentFailed: if the Secret holds no kubeconfig.
    """
    place = run.get_target(target.name).connection_secret
    if not place:
        return None
    namespace, _, name = place.partition("/")
    reference = target.cluster.kubeconfig_secret_ref
    key = reference.key if reference is not None else ""
    return await read_kubeconfig(run, target, Key(namespace, name), key=key)


def _parse(target: Target, secret: Key, text: bytes) -> Connection:
    try:
        return kubeconfig.parse(text)
    except KubeconfigError as error:
        raise _build_invalid(target, secret, str(error)) from error


def _build_invalid(target: Target, secret: Key, message: str) -> ExperimentFailed:
    return ExperimentFailed(
        Reason.CONNECTION_SECRET_INVALID,
        f"target {target.name}: Secret {secret}: {message}",
        condition=CLUSTERS_REGISTERED,
    )


async def _prepare(run: Run, target: Target, text: bytes) -> bool:
    """Test the kubeconfig and prepare the cluster; False if a later retry was scheduled.

    Raises:
        ExperimentFailed: if the cluster refused the credentials too often.
    """
    try:
        await run.environment.targets.probe(text)
        if target.cluster.type == "gke" and run.environment.administrator is not None:
            await run.environment.administrator.grant(text)
        await tailnet.ensure_credentials(run, target, text)
    except TargetRefused as error:
        if _count_refusals(run, target) >= _MOST_REFUSALS:
            raise ExperimentFailed(
                Reason.CONNECTION_SECRET_INVALID,
                f"target {target.name}: the cluster refuses its kubeconfig: {error}",
                condition=CLUSTERS_REGISTERED,
            ) from error
        _retry_later(run, target, Reason.CONNECTION_SECRET_INVALID, str(error))
        return False
    except TargetUnreachable as error:
        _retry_later(run, target, Reason.REGISTRATION_FAILED, str(error))
        return False
    return True


def _count_refusals(run: Run, target: Target) -> int:
    """How often a cluster has refused its kubeconfig in a row, the current refusal included.

    A new API server does not answer at first, which does not count.
    """
    status = run.get_target(target.name)
    return status.retries + 1 if status.reason == Reason.CONNECTION_SECRET_INVALID else 1


def _retry_later(run: Run, target: Target, reason: Reason, message: str) -> None:
    """Schedule the next try; the delays grow as long as the reason stays the same."""
    status = run.get_target(target.name)
    retries = status.retries if status.reason == reason else 0
    delay_s = run.settings.retry_s * min(2.0**retries, _LONGEST_FACTOR)
    run.set_target(
        target.name,
        reason=str(reason),
        message=message,
        retries=retries + 1,
        next_retry_at=run.format_time(run.now + timedelta(seconds=delay_s)),
    )
    run.requeue_after(delay_s)


async def _write_secret(run: Run, target: Target, connection: Connection) -> None:
    cluster = run.get_target(target.name).cluster_name
    document = argocd.build_cluster_secret(
        run.ctx.obj, target.name, cluster, connection, namespace=run.settings.argocd_namespace
    )
    await run.ctx.api.apply(Secret, document)


async def _copy_kubeconfig(run: Run, target: Target, text: bytes) -> None:
    """Copy the kubeconfig next to the experiment, for the user of a tutorial that exposes it."""
    tutorial = run.ctx.obj.spec.tutorial
    if tutorial is None or not tutorial.expose_kubeconfig:
        return
    name = naming.build_kubeconfig_secret_name(run.ctx.obj, target.name)
    owner = build_owner_reference(run.ctx.obj)
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": run.ctx.key.namespace,
            "labels": naming.build_labels(run.ctx.obj, target=target.name),
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": owner.uid,
                }
            ],
        },
        "type": "Opaque",
        "stringData": {"kubeconfig": text.decode()},
    }
    await run.ctx.api.apply(Secret, document)
    run.set_target(target.name, kubeconfig_secret=name)


def _finish(run: Run, target: Target, connection: Connection, *, version: str) -> None:
    status = run.get_target(target.name)
    run.environment.metrics.observe_cluster(target.cluster.type, run.elapsed_s(status.created_at))
    endpoint = status.endpoint or urlsplit(connection.server).netloc
    run.set_target(
        target.name,
        phase="Ready",
        endpoint=endpoint,
        server=connection.server,
        connection_version=version,
        ready_at=run.format_time(run.now),
        reason="",
        message="",
        retries=0,
        next_retry_at="",
    )
    message = f"target {target.name}: cluster {status.cluster_name} at {connection.server}"
    run.ctx.event(EventReason.CLUSTER_READY, message)
    run.ctx.event(EventReason.CLUSTER_REGISTERED, f"{message} is registered in Argo CD")
