"""Applications of targets: created layer by layer, dependents after what they depend on."""

from collections.abc import Sequence

from quarterdeck.apis.experiments.status import Layer
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import argocd, plan, tutorials
from quarterdeck.operators.experiments.argocd import App
from quarterdeck.operators.experiments.conditions import (
    APPLICATIONS_HEALTHY,
    EventReason,
    Reason,
)
from quarterdeck.operators.experiments.foreign import ArgoApplication
from quarterdeck.operators.experiments.health import (
    READY,
    Assessment,
    State,
    assess_application,
    combine,
)
from quarterdeck.operators.experiments.ownership import find_own, is_stale
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.operators.experiments.sharing import share_kubeconfigs
from quarterdeck.operators.experiments.substitution import NotYet, SubstitutionError

_RETRY_S = 5.0


async def ensure_applications(run: Run) -> None:
    """Create and check the Applications of every target whose dependencies are ready.

    Raises:
        ExperimentFailed: if an Application can never become ready.
    """
    await tutorials.update(run)
    for target in run.targets:
        status = run.get_target(target.name)
        if status.apps_ready or not status.ready_at:
            continue
        waiting = [name for name in target.depends if not run.get_target(name).apps_ready]
        if waiting:
            message = f"waiting for the components of {', '.join(waiting)}"
            run.set_target(target.name, reason=str(Reason.DEPLOYING), message=message)
        else:
            await _ensure_target(run, target)
            if run.get_target(target.name).apps_ready:
                await tutorials.update(run)  # dependents may refer to addresses of its Services
    _report(run)


def are_created(run: Run) -> bool:
    """Whether every Application of every target exists."""
    return all(run.get_target(target.name).apps_created for target in run.targets)


def are_ready(run: Run) -> bool:
    """Whether every Application of every target is ready."""
    return all(run.get_target(target.name).apps_ready for target in run.targets)


def check_timeout(run: Run) -> None:
    """Fail when Applications took too long, counted from the last cluster's registration.

    Raises:
        ExperimentFailed: naming what is not ready.
    """
    registered = [run.get_target(target.name).ready_at for target in run.targets]
    if are_ready(run) or not all(registered):
        return
    left_s = run.left_s(max(registered), run.spec.timeouts.applications)
    if left_s > 0:
        run.requeue_after(left_s)
        return
    late = [each for each in run.status.targets if not each.apps_ready]
    degraded = any(each.reason == Reason.APP_DEGRADED for each in late)
    details = "; ".join(f"target {each.name}: {each.message or 'not started'}" for each in late)
    raise ExperimentFailed(
        Reason.APP_DEGRADED if degraded else Reason.APPS_TIMEOUT,
        f"Applications were not ready within {run.spec.timeouts.applications}: {details}",
        condition=APPLICATIONS_HEALTHY,
    )


async def _ensure_target(run: Run, target: Target) -> None:
    status = run.get_target(target.name)
    if not status.deployed_layers and (trouble := await share_kubeconfigs(run, target)):
        run.set_target(target.name, reason=str(Reason.DEPLOYING), message=trouble)
        run.requeue_after(_RETRY_S)
        return
    apps = argocd.plan_apps(run.ctx.obj, target, status)
    assessment, found, layers = READY, [], []
    for stage in _group_stages(apps):
        try:
            pairs = [(app, await _ensure_app(run, target, app)) for app in stage]
        except NotYet as error:
            run.set_target(target.name, reason=str(Reason.DEPLOYING), message=str(error))
            run.requeue_after(_RETRY_S)
            return
        found += [each for _, each in pairs if each is not None]
        layers += [app.layer for app in stage]
        assessment = combine(
            assess_application(each, target, now=run.now, grace_s=run.settings.grace_s)
            for _, each in pairs
        )
        if assessment.state is not State.READY:
            break
    resources = [(each.kind, each.name) for app in found for each in app.status.resources]
    run.set_target(
        target.name,
        components=argocd.describe_installed(resources),
        deployed_layers=_order_layers(layers),
        apps_created=len(found) == len(apps),
        apps_ready=assessment.state is State.READY,
        reason="" if assessment.state is State.READY else str(assessment.reason),
        message=assessment.message,
    )
    _handle_assessment(run, target, assessment)


def _handle_assessment(run: Run, target: Target, assessment: Assessment) -> None:
    """Schedule the next check, or fail the experiment if the target has failed."""
    if assessment.again_s is not None:
        run.requeue_after(assessment.again_s)
    if assessment.state is State.FAILED:
        run.set_target(target.name, phase="Failed")
        _fail_dependents(run, target.name)
        raise ExperimentFailed(
            assessment.reason,
            f"target {target.name}: {assessment.message}",
            condition=APPLICATIONS_HEALTHY,
        )


def _fail_dependents(run: Run, name: str) -> None:
    """Mark the targets that depend on a failed target as failed too."""
    for target in run.targets:
        if name in target.depends and run.get_target(target.name).phase != "Failed":
            run.set_target(
                target.name,
                phase="Failed",
                reason=str(Reason.DEPENDENCY_FAILED),
                message=f"target {name} has failed",
            )
            _fail_dependents(run, target.name)


def _group_stages(apps: Sequence[App]) -> list[list[App]]:
    """Group Applications into stages: the layers below the workload, then the workload."""
    below = [app for app in apps if app.layer != "workload"]
    workload = [app for app in apps if app.layer == "workload"]
    return [stage for stage in (below, workload) if stage]


async def _ensure_app(run: Run, target: Target, app: App) -> ArgoApplication | None:
    """Create or update an Application; None while an earlier one of its name is being deleted."""
    key = Key(run.settings.argocd_namespace, app.name)
    before = await find_own(run, ArgoApplication, key)
    if before is not None and is_stale(before, run.ctx.obj):
        if not before.is_deleting:
            await run.ctx.delete(before)
        return None
    if before is not None and before.is_deleting:
        return None
    try:
        document = argocd.build_application(
            run.ctx.obj,
            target,
            app,
            server=plan.get_server(run.get_target(target.name)),
            scope=plan.build_scope(run.experiment, target, run.by_name),
            settings=run.settings,
        )
    except NotYet:
        raise
    except SubstitutionError as error:
        raise ExperimentFailed(
            Reason.PARAMETER_INVALID, f"target {target.name}: Application {app.name}: {error}"
        ) from error
    applied = await run.ctx.api.apply(ArgoApplication, document)
    if before is None:
        message = f"target {target.name}: Application {app.name} created"
        run.ctx.event(EventReason.APPLICATION_CREATED, message)
    return applied


def _order_layers(found: Sequence[Layer]) -> tuple[Layer, ...]:
    return tuple(layer for layer in argocd.LAYERS if layer in found)


def _report(run: Run) -> None:
    late = [each for each in run.status.targets if not each.apps_ready]
    if not late:
        run.set_condition(APPLICATIONS_HEALTHY, TRUE, Reason.HEALTHY, "all Applications are ready")
        return
    if not all(each.ready_at for each in run.status.targets):
        return
    message = "; ".join(f"target {each.name}: {each.message or 'waiting'}" for each in late)
    run.set_condition(APPLICATIONS_HEALTHY, FALSE, Reason.DEPLOYING, message)
    run.set_reason(Reason.DEPLOYING, message)
