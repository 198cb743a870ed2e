"""Clean-up: deletes everything that was created for an experiment, in reverse order.

Objects are found by labels, not by the status, because a crash may have left some unrecorded. Each
step begins when the one before is done. Nothing here blocks: a reconcile deletes what it can and
names what is left, and events trigger the next one.
"""

from typing import Any

from quarterdeck.apis.core.config import ConfigMap, Namespace, Secret
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments import datasources, naming, plan, workflows
from quarterdeck.operators.experiments.clusters import list_request_kinds
from quarterdeck.operators.experiments.foreign import (
    ArgoApplication,
    ArgoWorkflow,
    ClusterRequest,
    OwnNamespaceHead,
    OwnSecretHead,
)
from quarterdeck.operators.experiments.ownership import list_own
from quarterdeck.operators.experiments.run import Run
from quarterdeck.wire.status import NotFound

_CHECK_S = 5.0
"""Seconds between checks for composite resources, which are not watched."""


async def clean_up(run: Run, *, elapsed_s: float) -> list[str]:
    """Delete what can be deleted now; returns a description of each object that is left."""
    for remove in (
        _stop_workflows,
        _delete_applications,
        _delete_datasource,
        _delete_secrets,
        _delete_clusters,
        _await_composites,
        _delete_namespaces,
        _delete_workflows,
        _delete_unseen,
    ):
        if left := await remove(run, elapsed_s):
            return left
    return []


async def _stop_workflows(run: Run, elapsed_s: float) -> list[str]:
    """Terminate running workflows; one that does not stop in time is deleted later anyway."""
    left: list[str] = []
    for workflow in await list_own(run, ArgoWorkflow):
        phase = workflow.status.phase
        if not phase or workflows.is_terminal(phase) or workflow.is_deleting:
            continue
        if workflow.spec.shutdown != "Terminate":
            patch = {"spec": {"shutdown": "Terminate"}}
            await run.ctx.api.merge(ArgoWorkflow, workflow.key, patch)
        if elapsed_s < run.settings.workflow_stop_s:
            run.requeue_after(run.settings.workflow_stop_s - elapsed_s)
            left.append(f"Workflow {workflow.key} (stops)")
    return left


async def _delete_applications(run: Run, elapsed_s: float) -> list[str]:
    """Delete Applications level by level, those of targets without dependents first."""
    apps = await list_own(run, ArgoApplication)
    levels = plan.order_deletion(run.ctx.obj)
    known = {name for level in levels for name in level}
    level_of = {name: index for index, level in enumerate(levels) for name in level}
    by_level: dict[int, list[ArgoApplication]] = {}
    for app in apps:
        target = app.metadata.labels.get(naming.LABEL_TARGET, "")
        by_level.setdefault(level_of[target] if target in known else 0, []).append(app)
    for _, members in sorted(by_level.items()):
        left = [app for app in members if not await _delete_application(run, app, elapsed_s)]
        if left:
            return [f"Application {app.key}" for app in left]
    return []


async def _delete_application(run: Run, app: ArgoApplication, elapsed_s: float) -> bool:
    """Delete an Application; returns whether it is gone.

    Finalizers that no controller removes in time are removed here, so that the clean-up goes on.
    """
    if not app.is_deleting:
        await run.ctx.delete(app)
        return not app.metadata.finalizers
    if elapsed_s >= run.settings.app_deletion_s:
        await _strip_finalizers(run, app)
        return True
    run.requeue_after(run.settings.app_deletion_s - elapsed_s)
    return False


async def _strip_finalizers(run: Run, obj: Object) -> None:
    try:
        await run.ctx.api.merge(type(obj), obj.key, {"metadata": {"finalizers": None}})
    except NotFound:
        return


async def _delete_datasource(run: Run, elapsed_s: float) -> list[str]:
    return await datasources.delete(run)


async def _delete_secrets(run: Run, elapsed_s: float) -> list[str]:
    """Delete Argo CD's cluster Secrets and copies of kubeconfigs."""
    for head in await list_own(run, OwnSecretHead):
        if not head.is_deleting:
            await run.ctx.delete(head)
    return []


async def _delete_clusters(run: Run, elapsed_s: float) -> list[str]:
    left: list[str] = []
    for kind in list_request_kinds(run.environment.adapters):
        for request in await list_own(run, kind):
            if not request.is_deleting:
                await run.ctx.delete(request)
            if await _is_there(run, kind, request.key):
                left.append(f"{kind.KIND.kind} {request.key}")
    return left


async def _is_there(run: Run, kind: type[ClusterRequest], key: Key) -> bool:
    return await run.ctx.find(kind, key.name, key.namespace) is not None


async def _await_composites(run: Run, elapsed_s: float) -> list[str]:
    """Wait until composite resources and connection Secrets are gone too."""
    left: list[str] = []
    for target in run.targets:
        status, adapter = run.get_target(target.name), run.environment.adapters[target.cluster.type]
        if adapter.kind is None:
            continue
        if adapter.composite is not None and status.resource_name:
            key = Key("", status.resource_name)
            if await _exists(run, adapter.composite, key):
                left.append(f"{adapter.composite.KIND.kind} {key.name}")
        if status.connection_secret:
            namespace, _, name = status.connection_secret.partition("/")
            if await _exists(run, Secret, Key(namespace, name)):
                left.append(f"Secret {status.connection_secret}")
    if left:
        run.requeue_after(_CHECK_S)
    return left


async def _exists(run: Run, kind: type[Any], key: Key) -> bool:
    try:
        await run.ctx.api.get_live(kind, key)
    except NotFound:
        return False
    return True


async def _delete_namespaces(run: Run, elapsed_s: float) -> list[str]:
    """Delete namespaces that Argo CD created on the hub for this experiment."""
    left: list[str] = []
    for head in await list_own(run, OwnNamespaceHead):
        if not head.is_deleting:
            await run.ctx.delete(head)
        if await run.ctx.find(OwnNamespaceHead, head.metadata.name, "") is not None:
            left.append(f"Namespace {head.metadata.name}")
    return left


async def _delete_workflows(run: Run, elapsed_s: float) -> list[str]:
    """Delete workflows last, so that steps and outputs can be read until then."""
    left: list[str] = []
    for workflow in await list_own(run, ArgoWorkflow):
        if not workflow.is_deleting:
            await run.ctx.delete(workflow)
        if await run.ctx.find(ArgoWorkflow, workflow.metadata.name, workflow.metadata.namespace):
            left.append(f"Workflow {workflow.key}")
    return left


async def _delete_unseen(run: Run, elapsed_s: float) -> list[str]:
    """Delete what the caches have not shown yet, as the last step.

    Of these kinds only metadata is cached, so our own writes are seen when the watch tells of them.
    """
    selector = naming.build_selector(run.ctx.obj)
    kinds = (Secret, Namespace) if run.spec.retain_datasource else (Secret, ConfigMap, Namespace)
    left: list[str] = []
    for kind in kinds:
        for found in await run.ctx.list(kind, labels=selector):
            if not found.is_deleting:
                await run.ctx.delete(found)
            if kind is Namespace or found.metadata.finalizers:
                left.append(f"{kind.KIND.kind} {found.key}")
    if left:
        run.requeue_after(_CHECK_S)
    return left
