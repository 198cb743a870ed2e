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
    Trouble,
    Verdict,
    judge_deployment,
    judge_job,
    pod_trouble,
)
from quarterdeck.runtime import Context, Controller, Finalizer, Lookup, Manager, Scope, Stalled
from quarterdeck.runtime import Watch as Watches
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.wire.status import Conflict, NotFound

CHILDREN: tuple[type[Object], ...] = (ConfigMap, Deployment, Job, Service)
"""Kinds an application owns."""
_BY_APPLICATION = "application"


def register(manager: Manager, *, namespaces: Sequence[str] = (), workers: int = 8) -> None:
    """Run the operator in a manager. Only what carries our label is cached, not the cluster."""
    scope = Scope(namespaces=tuple(namespaces), labels=plan.LABEL)
    for kind in CHILDREN:
        manager.set_scope(kind, scope)
    manager.set_scope(Pod, scope)
    manager.add(controller(workers=workers))


def controller(*, workers: int = 8) -> Controller[Application]:
    """The declaration of the operator."""
    return Controller(
        reconcile=reconcile,
        for_=Application,
        owns=CHILDREN,
        watches=(Watches(Pod, applications_of, predicates=(trouble_changed,)),),
        indexes={Pod: {_BY_APPLICATION: _application_of}},
        finalizers=(Finalizer(FINALIZER, clean_up),),
        on_error=report_error,
        ready=None,
        conditions=TYPES,
        workers=workers,
    )


async def reconcile(app: Application, ctx: Context[Application]) -> None:
    """Bring the children to what the spec says, then say what is true."""
    if (bad := plan.check_names(app)) is not None:
        raise Stalled(Reason.INVALID_NAME, bad.message)
    wanted = plan.children(app)
    for child in wanted:
        await ensure_ours(child, ctx)
    applied = await ctx.apply_all(wanted, prune=CHILDREN)
    verdict = judge(app, applied, await _pods(app, ctx))
    report(app, verdict, ctx)


async def ensure_ours(child: Object, ctx: Context[Application]) -> None:
    """Refuse to take over what belongs to somebody else.

    The cache holds only what carries our label, so an object that is not in it is looked for.
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
        whose = f"belongs to {owner.kind} {owner.name}" if owner else "was made by somebody else"
        raise Stalled(
            Reason.NAME_TAKEN,
            f"{kind.KIND.kind} {key} exists and {whose}: rename the application, or remove it",
        )


def judge(app: Application, applied: Sequence[Object], pods: Sequence[Pod]) -> Verdict:
    """What the children say about the application."""
    for child in applied:
        if isinstance(child, Deployment):
            return judge_deployment(app, child, pods)
        if isinstance(child, Job):
            return judge_job(app, child, pods)
    return judge_deployment(app, None, pods)


def report(app: Application, verdict: Verdict, ctx: Context[Application]) -> None:
    """Fill the status, and tell people when it changed for better or worse."""
    ctx.status.set(
        replicas=verdict.replicas,
        ready_replicas=verdict.ready,
        phase=verdict.phase,
        label_selector=",".join(f"{k}={v}" for k, v in plan.selector(app).items()),
    )
    status = TRUE if verdict.is_ready else FALSE
    put_condition(ctx, READY, status, verdict.reason, verdict.message)
    updating = verdict.is_progressing
    put_condition(
        ctx,
        PROGRESSING,
        TRUE if updating else FALSE,
        Reason.UPDATING if updating else Reason.AVAILABLE,
        verdict.progress,
    )
    before, after = ctx.status.get_transition(READY)
    is_news = after is not None and (before is None or before.reason != after.reason)
    if is_news and verdict.phase != "Pending":
        ctx.event(verdict.reason, verdict.message, warning=verdict.phase == "Failed")


def report_error(ctx: Context[Application], error: Exception) -> None:
    """A reconcile that failed says so in the status; the runtime tries again."""
    if isinstance(error, Conflict):
        return  # somebody was faster: nothing is wrong, and the retry reads anew
    stalled = error if isinstance(error, Stalled) else None
    reason = stalled.reason if stalled is not None else str(Reason.RECONCILIATION_FAILED)
    message = stalled.message if stalled is not None else str(error)
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


async def clean_up(app: Application, ctx: Context[Application]) -> None:
    """Remove the children, also where no garbage collector would."""
    for kind in CHILDREN:
        for child in await ctx.list_owned(kind):
            if not child.is_deleting:
                await ctx.delete(child, propagation="Background")


# --- pods: only their troubles concern us


async def _pods(app: Application, ctx: Context[Application]) -> Sequence[Pod]:
    value = f"{app.metadata.namespace}/{plan.label_value(app.metadata.name)}"
    return await ctx.list(Pod, index=(_BY_APPLICATION, value))


def _application_of(pod: Pod) -> Sequence[str]:
    value = pod.metadata.labels.get(plan.LABEL, "")
    return (f"{pod.metadata.namespace}/{value}",) if value else ()


def applications_of(pod: Pod, lookup: Lookup) -> Iterable[Key]:
    """The application a pod belongs to; a long name stands shortened in its label."""
    value, namespace = pod.metadata.labels.get(plan.LABEL, ""), pod.metadata.namespace
    if not value:
        return
    if lookup.get(Application, Key(namespace, value)) is not None:
        yield Key(namespace, value)
        return
    for app in lookup.list(Application, namespace=namespace):
        if plan.label_value(app.metadata.name) == value:
            yield app.key


def trouble_changed(event: Event) -> bool:
    """Whether a pod got into trouble, out of it, or into another one."""
    if event.change is Change.DELETED or event.old is None:
        return _trouble(event) is not None
    return _trouble(event) != pod_trouble((event.old.typed(Pod),))


def _trouble(event: Event) -> Trouble | None:
    return pod_trouble((event.new.typed(Pod),))
