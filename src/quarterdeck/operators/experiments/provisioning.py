"""Provisioning: a cluster for each target, created, watched, replaced when it failed."""

from quarterdeck.apis.experiments.status import TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import naming, plan, registration
from quarterdeck.operators.experiments.clusters import Adapter
from quarterdeck.operators.experiments.clusters.adapter import Observed, Trouble
from quarterdeck.operators.experiments.conditions import (
    CLUSTERS_PROVISIONED,
    CLUSTERS_REGISTERED,
    EventReason,
    Reason,
)
from quarterdeck.operators.experiments.foreign import ClusterRequest
from quarterdeck.operators.experiments.ownership import find_own, is_stale
from quarterdeck.operators.experiments.run import ExperimentFailed, Run


async def ensure_clusters(run: Run) -> None:
    """Create, observe and register the clusters of targets, one step each.

    Raises:
        ExperimentFailed: if a cluster cannot be provisioned or registered.
    """
    for target in run.targets:
        if not run.get_target(target.name).ready_at and _may_start(run, target):
            await _ensure_cluster(run, target)
    _report(run)


async def check_clusters(run: Run) -> None:
    """Check for clusters that were deleted by others, and for renewed kubeconfigs.

    Raises:
        ExperimentFailed: if a cluster is gone.
    """
    for target in run.targets:
        status, adapter = run.get_target(target.name), run.environment.adapters[target.cluster.type]
        if adapter.kind is None or not status.ready_at:
            continue
        namespace = adapter.get_namespace(run.ctx.obj)
        request = await run.ctx.find(adapter.kind, status.cluster_name, namespace)
        if request is None or request.is_deleting:
            state = "was deleted" if request is None else "is being deleted"
            raise ExperimentFailed(
                Reason.CLUSTER_LOST,
                f"target {target.name}: {adapter.kind.KIND.kind} {status.cluster_name} {state}, "
                "while the experiment still uses it",
                condition=CLUSTERS_PROVISIONED,
            )
        await registration.renew(run, target)


def are_registered(run: Run) -> bool:
    """Whether every cluster is ready and known to Argo CD."""
    return all(run.get_target(target.name).ready_at for target in run.targets)


def check_timeout(run: Run) -> None:
    """Fail when clusters took too long.

    Raises:
        ExperimentFailed: naming the clusters that are not ready, with their last messages.
    """
    if are_registered(run):
        return
    left_s = run.left_s(run.status.phase_started_at, run.spec.timeouts.provisioning)
    if left_s > 0:
        run.requeue_after(left_s)
        return
    late = [each for each in run.status.targets if not each.ready_at]
    reason = next(
        (
            r
            for r in (Reason.CONNECTION_SECRET_INVALID, Reason.REGISTRATION_FAILED)
            if any(each.reason == r for each in late)
        ),
        Reason.CLUSTER_TIMEOUT,
    )
    details = "; ".join(f"target {each.name}: {each.message or 'not started'}" for each in late)
    raise ExperimentFailed(
        reason,
        f"clusters were not ready within {run.spec.timeouts.provisioning}: {details}",
        condition=CLUSTERS_PROVISIONED,
    )


def _may_start(run: Run, target: Target) -> bool:
    """Whether a target's cluster may be created now."""
    if run.spec.provisioning == "Parallel":
        return True
    return all(run.get_target(name).apps_ready for name in target.depends)


async def _ensure_cluster(run: Run, target: Target) -> None:
    adapter = run.environment.adapters[target.cluster.type]
    if target.cluster.type == naming.HUB:
        _finish_hub(run, target)
    elif adapter.kind is None:
        await _ensure_existing(run, target, adapter)
    else:
        await _ensure_requested(run, target, adapter, adapter.kind)


def _finish_hub(run: Run, target: Target) -> None:
    run.set_target(
        target.name,
        phase="Ready",
        cluster_name=naming.HUB,
        ready_at=run.format_time(run.now),
        reason="",
        message="",
    )


async def _ensure_existing(run: Run, target: Target, adapter: Adapter) -> None:
    reference = target.cluster.kubeconfig_secret_ref
    assert reference is not None  # validated
    name = naming.build_cluster_name(run.ctx.obj, target.name, limit=adapter.max_name)
    secret = Key(run.ctx.key.namespace, reference.name)
    run.set_target(
        target.name, phase="Provisioning", cluster_name=name, connection_secret=str(secret)
    )
    await registration.register(run, target, secret, key=reference.key)


async def _ensure_requested(
    run: Run, target: Target, adapter: Adapter, kind: type[ClusterRequest]
) -> None:
    status = run.get_target(target.name)
    name = status.cluster_name or naming.build_cluster_name(
        run.ctx.obj, target.name, limit=adapter.max_name, attempt=status.attempt
    )
    key = Key(adapter.get_namespace(run.ctx.obj), name)
    request = await find_own(run, kind, key)
    if request is not None and is_stale(request, run.ctx.obj):
        await _remove_stale(run, target, request)
        return
    if request is None and not status.created_at:
        request = await _create(run, target, adapter, kind, name)
    elif request is None or request.is_deleting:
        state = "was deleted" if request is None else "is being deleted"
        trouble = f"{kind.KIND.kind} {key} {state} before it was ready"
        await _replace(run, target, request, trouble)
        return
    if not status.created_at:
        status = _note_created(run, target, adapter, name)
    await _follow(run, target, adapter, request)


async def _create(
    run: Run, target: Target, adapter: Adapter, kind: type[ClusterRequest], name: str
) -> ClusterRequest:
    document = plan.with_labels(adapter.build(run.ctx.obj, target, name), run.ctx.obj, target.name)
    request = await run.ctx.api.apply(kind, document)
    message = f"target {target.name}: {kind.KIND.kind} {request.key} requested"
    run.ctx.event(EventReason.CLUSTER_CREATED, message)
    return request


def _note_created(run: Run, target: Target, adapter: Adapter, name: str) -> TargetStatus:
    shape = adapter.get_shape(target.cluster)
    return run.set_target(
        target.name,
        phase="Provisioning",
        cluster_name=name,
        created_at=run.format_time(run.now),
        machine_type=shape.machine_type,
        node_count=shape.node_count,
        reason=str(Reason.PROVISIONING),
    )


async def _follow(run: Run, target: Target, adapter: Adapter, request: ClusterRequest) -> None:
    """Read the state of the request: register the cluster when ready, replace it if it failed."""
    seen = adapter.observe(request)
    secret = seen.connection_secret
    run.set_target(
        target.name,
        endpoint=seen.endpoint,
        resource_name=seen.resource_name,
        connection_secret=str(secret) if secret is not None else "",
    )
    if seen.is_ready and secret is not None:
        await registration.register(run, target, secret)
    elif seen.trouble is not None and _is_final(run, seen.trouble):
        kind = type(request).KIND.kind
        await _replace(run, target, request, f"{kind} {request.key}: {seen.trouble.message}")
    else:
        _note_waiting(run, target, seen)


def _note_waiting(run: Run, target: Target, seen: Observed) -> None:
    message = seen.trouble.message if seen.trouble is not None else seen.message
    run.set_target(target.name, reason=str(Reason.PROVISIONING), message=message)


def _is_final(run: Run, trouble: Trouble) -> bool:
    """Whether an error has lasted longer than the grace period, so that it is permanent."""
    if not trouble.since:
        return True
    try:
        lasted_s = (run.now - rfc3339.parse(trouble.since)).total_seconds()
    except ValueError:
        return True
    if lasted_s < run.settings.grace_s:
        run.requeue_after(run.settings.grace_s - lasted_s)
        return False
    return True


async def _replace(run: Run, target: Target, request: ClusterRequest | None, trouble: str) -> None:
    """Delete a failed cluster and request another one, if `spec.retry` allows it."""
    status = run.get_target(target.name)
    if status.attempt >= run.spec.retry.provisioning:
        run.set_target(
            target.name,
            phase="Failed",
            reason=str(Reason.CLUSTER_PROVISION_FAILED),
            message=trouble,
        )
        tries = "" if not status.attempt else f" (attempt {status.attempt + 1})"
        raise ExperimentFailed(
            Reason.CLUSTER_PROVISION_FAILED,
            f"target {target.name}: {trouble}{tries}",
            condition=CLUSTERS_PROVISIONED,
        )
    if request is not None and not request.is_deleting:
        await run.ctx.delete(request)
    adapter = run.environment.adapters[target.cluster.type]
    attempt = status.attempt + 1
    name = naming.build_cluster_name(
        run.ctx.obj, target.name, limit=adapter.max_name, attempt=attempt
    )
    run.set_target(
        target.name,
        attempt=attempt,
        cluster_name=name,
        created_at="",
        endpoint="",
        resource_name="",
        connection_secret="",
        message=trouble,
    )
    message = f"target {target.name}: {trouble}; requesting {name}"
    run.ctx.event(EventReason.CLUSTER_RECREATED, message, warning=True)
    run.requeue_after(0.001)


async def _remove_stale(run: Run, target: Target, request: ClusterRequest) -> None:
    """Delete the cluster of an earlier experiment of the same name, before ours is requested."""
    if not request.is_deleting:
        await run.ctx.delete(request)
    message = f"waiting until {type(request).KIND.kind} {request.key} of an earlier run is deleted"
    run.set_target(target.name, reason=str(Reason.PROVISIONING), message=message)


def _report(run: Run) -> None:
    missing = [
        f"target {each.name}: {each.message or each.reason or 'waiting'}"
        for each in run.status.targets
        if not each.ready_at
    ]
    message = "; ".join(missing)
    if missing:
        registering = all(
            each.ready_at or each.reason in registration.REASONS for each in run.status.targets
        )
        if registering:
            run.set_condition(
                CLUSTERS_PROVISIONED, TRUE, Reason.PROVISIONED, "all clusters are ready"
            )
            run.set_condition(CLUSTERS_REGISTERED, FALSE, Reason.REGISTERING, message)
        else:
            run.set_condition(CLUSTERS_PROVISIONED, FALSE, Reason.PROVISIONING, message)
        run.set_reason(Reason.PROVISIONING, message)
        return
    run.set_condition(CLUSTERS_PROVISIONED, TRUE, Reason.PROVISIONED, "all clusters are ready")
    run.set_condition(
        CLUSTERS_REGISTERED, TRUE, Reason.REGISTERED, "all clusters are registered in Argo CD"
    )
