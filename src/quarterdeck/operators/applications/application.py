"""The reconciler of Application: a short list of steps."""

from collections.abc import Iterable, Sequence

from quarterdeck.apis.applications.v1 import FINALIZER, Application, ApplicationCondition
from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.core.pods import Pod
from quarterdeck.apis.core.services import Service
from quarterdeck.meta.conditions import FALSE, TRUE, Status
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object, find_controller
from quarterdeck.operators.applications import plan
from quarterdeck.operators.applications.conditions import PROGRESSING, READY, TYPES, Reason
from quarterdeck.operators.applications.observed import (
    Assessment,
    Problem,
    assess_deployment,
    assess_job,
    find_pod_problem,
)
from quarterdeck.runtime import (
    CacheScope,
    Context,
    Controller,
    Finalizer,
    Lister,
    Manager,
    Stalled,
    Waiting,
)
from quarterdeck.runtime import Watch as Watches
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.wire.status import Conflict, NotFound

CHILDREN: tuple[type[Object], ...] = (ConfigMap, Deployment, Job, Service)
"""Kinds an application owns."""
NAME_TAKEN_RETRY_S = 60.0
_BY_APPLICATION = "application"


def register(manager: Manager, *, namespaces: Sequence[str] = (), workers: int = 8) -> None:
    """Run the operator in a manager. Only objects with our label are cached."""
    scope = CacheScope(namespaces=tuple(namespaces), labels=plan.LABEL)
    for kind in CHILDREN:
        manager.set_cache_scope(kind, scope)
    manager.set_cache_scope(Pod, scope)
    manager.add(build_controller(workers=workers))


def build_controller(*, workers: int = 8) -> Controller[Application]:
    """The declaration of the Application controller."""
    return Controller(
        reconcile=reconcile,
        for_=Application,
        owns=CHILDREN,
        watches=(Watches(Pod, find_applications, predicates=(problem_changed,)),),
        indexes={Pod: {_BY_APPLICATION: _find_application}},
        finalizers=(Finalizer(FINALIZER, delete_children),),
        on_error=report_error,
        ready=None,
        conditions=TYPES,
        workers=workers,
    )


async def reconcile(app: Application, ctx: Context[Application]) -> None:
    """Apply the children and report their state in the status."""
    if (bad := plan.check_names(app)) is not None:
        raise Stalled(Reason.INVALID_NAME, bad.message)
    wanted = plan.plan_children(app)
    for child in wanted:
        await ensure_owned(child, ctx)
        await allow_recreate(child, ctx)
    applied = await ctx.apply_all(wanted, prune=CHILDREN)
    assessment = assess(app, applied, await _list_pods(app, ctx))
    report(app, assessment, ctx)


async def ensure_owned(child: Object, ctx: Context[Application]) -> None:
    """Wait if an object of the same name has another owner.

    The cache holds only objects with our label, so other objects are read from the server, and
    nothing tells when they are gone.
    """
    kind, key = type(child), child.key
    found = await ctx.find(kind, key.name)
    if found is None:
        try:
            found = await ctx.api.get_live(kind, key)
        except NotFound:
            return
    owner = find_controller(found)
    if owner is None or owner.uid != ctx.obj.metadata.uid:
        whose = f"is owned by {owner.kind} {owner.name}" if owner else "is not owned by this object"
        raise Waiting(
            Reason.NAME_TAKEN,
            f"{kind.KIND.kind} {key} already exists and {whose}: rename the application, or "
            "delete the existing object",
            after_s=NAME_TAKEN_RETRY_S,
        )


async def allow_recreate(child: Object, ctx: Context[Application]) -> None:
    """Remove `rollingUpdate` from a Deployment whose strategy becomes Recreate.

    The server set it by default, so no apply of ours removes it, and a Deployment with both is
    refused.
    """
    if not isinstance(child, Deployment) or child.spec.strategy.type != "Recreate":
        return
    found = await ctx.find(Deployment, child.key.name)
    if found is not None and found.spec.strategy.rolling_update is not None:
        strategy = {"type": "Recreate", "rollingUpdate": None}
        await ctx.api.merge(Deployment, child.key, {"spec": {"strategy": strategy}})


def assess(app: Application, applied: Sequence[Object], pods: Sequence[Pod]) -> Assessment:
    """The state of the application, from the state of its children."""
    for child in applied:
        if isinstance(child, Deployment):
            return assess_deployment(app, child, pods)
        if isinstance(child, Job):
            return assess_job(app, child, pods)
    return assess_deployment(app, None, pods)


def report(app: Application, assessment: Assessment, ctx: Context[Application]) -> None:
    """Set the status, and record an event when the Ready reason changed."""
    ctx.status.set(
        replicas=assessment.replicas,
        ready_replicas=assessment.ready,
        phase=assessment.phase,
        label_selector=",".join(f"{k}={v}" for k, v in plan.build_selector(app).items()),
    )
    status = TRUE if assessment.is_ready else FALSE
    put_condition(ctx, READY, status, assessment.reason, assessment.message)
    updating = assessment.is_progressing
    put_condition(
        ctx,
        PROGRESSING,
        TRUE if updating else FALSE,
        Reason.UPDATING if updating else Reason.AVAILABLE,
        assessment.progress,
    )
    _record_change(assessment, ctx)


def _record_change(assessment: Assessment, ctx: Context[Application]) -> None:
    """Record an event for the first reconcile, and when the Ready reason changed."""
    before, after = ctx.status.get_transition(READY)
    is_first = before is None
    is_news = before is not None and after is not None and before.reason != after.reason
    if is_first or (is_news and assessment.phase != "Pending"):
        ctx.event(assessment.reason, assessment.message, warning=assessment.phase == "Failed")


def report_error(ctx: Context[Application], error: Exception) -> None:
    """Set the conditions of a failed reconcile; the runtime retries."""
    if isinstance(error, Conflict):
        return  # a concurrent write; the retry reads the new version
    known = error if isinstance(error, Stalled | Waiting) else None
    reason = known.reason if known is not None else str(Reason.RECONCILIATION_FAILED)
    message = known.message if known is not None else str(error)
    ctx.status.set(phase="Failed")
    put_condition(ctx, READY, FALSE, reason, message)
    put_condition(ctx, PROGRESSING, FALSE, reason, message)
    before, after = ctx.status.get_transition(READY)
    if after is not None and (before is None or before.message != after.message):
        ctx.event(reason, message, warning=True)


def put_condition(
    ctx: Context[Application], type_: str, status: Status, reason: str, message: str
) -> None:
    """Set a condition of the kind's own type, so that an unchanged one compares as equal."""
    ctx.status.put_condition(
        ApplicationCondition(
            type=type_,
            status=status,
            reason=str(reason),
            message=message,
            observed_generation=ctx.obj.metadata.generation,
        )
    )


async def delete_children(app: Application, ctx: Context[Application]) -> None:
    """Delete the children explicitly, so that no garbage collector is needed."""
    for kind in CHILDREN:
        for child in await ctx.list_owned(kind):
            if not child.is_deleting:
                await ctx.delete(child, propagation="Background")


# --- pods: only their problems matter


async def _list_pods(app: Application, ctx: Context[Application]) -> Sequence[Pod]:
    value = f"{app.metadata.namespace}/{plan.build_label_value(app.metadata.name)}"
    return await ctx.list(Pod, index=(_BY_APPLICATION, value))


def _find_application(pod: Pod) -> Sequence[str]:
    value = pod.metadata.labels.get(plan.LABEL, "")
    return (f"{pod.metadata.namespace}/{value}",) if value else ()


def find_applications(pod: Pod, lister: Lister) -> Iterable[Key]:
    """The application of a pod; a long name is shortened in its label."""
    value, namespace = pod.metadata.labels.get(plan.LABEL, ""), pod.metadata.namespace
    if not value:
        return
    if lister.get(Application, Key(namespace, value)) is not None:
        yield Key(namespace, value)
        return
    for app in lister.list(Application, namespace=namespace):
        if plan.build_label_value(app.metadata.name) == value:
            yield app.key


def problem_changed(event: Event) -> bool:
    """Whether the problem of a pod changed."""
    if event.change is Change.DELETED or event.old is None:
        return _find_problem(event) is not None
    return _find_problem(event) != find_pod_problem((event.old.typed(Pod),))


def _find_problem(event: Event) -> Problem | None:
    return find_pod_problem((event.new.typed(Pod),))
