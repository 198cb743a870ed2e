"""Phases Ready and Running: submits, observes and repeats workflows until the run ends."""

from quarterdeck.apis.experiments.status import WorkflowStatus
from quarterdeck.kit import duration
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import completion, limits, naming, plan, workflows
from quarterdeck.operators.experiments.conditions import (
    WORKFLOW_SUCCEEDED,
    EventReason,
    Reason,
)
from quarterdeck.operators.experiments.foreign import (
    ArgoWorkflow,
    ClusterWorkflowTemplate,
    WorkflowTemplate,
)
from quarterdeck.operators.experiments.ownership import find_own, is_stale
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.operators.experiments.substitution import NotYet, SubstitutionError

_ADDRESS_S = 5.0
"""Seconds between reads of Services on targets, which cannot be watched."""
_TIMEOUT_SLACK_S = 60.0
"""Time after the deadline of a workflow for Argo to end it, before the experiment fails."""


async def submit(run: Run) -> None:
    """Submit the first workflow, and enter the phase Running.

    Raises:
        ExperimentFailed: if there is no template, or a parameter cannot be replaced.
    """
    if await _submit(run, naming.build_workflow_name(run.ctx.obj)):
        run.enter_phase("Running", Reason.RUNNING, "the workflow runs")


def check_submission(run: Run) -> None:
    """Fail when the workflow was not submitted within `spec.timeouts.applications`.

    Raises:
        ExperimentFailed: naming the limit.
    """
    limit = run.spec.timeouts.applications
    left_s = run.left_s(run.status.phase_started_at, limit)
    if left_s > 0:
        run.requeue_after(left_s)
    else:
        raise ExperimentFailed(
            Reason.WORKFLOW_ERROR,
            f"the workflow could not be submitted within {limit}",
            condition=WORKFLOW_SUCCEEDED,
        )


async def follow(run: Run) -> None:
    """Read the state of the workflow; when it has ended, repeat it or end the experiment.

    Raises:
        ExperimentFailed: if the workflow failed, was deleted, or took too long.
    """
    before = run.status.workflow_status
    if before is None:
        await _submit(run, naming.build_workflow_name(run.ctx.obj))
        return
    key = Key(run.settings.workflow_namespace, before.name)
    workflow = await find_own(run, ArgoWorkflow, key)
    if workflow is None or workflow.is_deleting:
        await _handle_absence(run, before)
        return
    now = workflows.build_status(workflow, before)
    run.set(workflow_status=now)
    if workflows.is_terminal(now.phase):
        await _end(run, now)
    elif not _complete_early(run, now):
        _check_time(run, workflow, now)
        await _resume(run, workflow)


async def _end(run: Run, now: WorkflowStatus) -> None:
    """Handle the end of a workflow: retry, repeat, or end the experiment."""
    message = f"Workflow {now.name}: {now.phase}"
    before = run.ctx.obj.status.workflow_status
    if before is None or (before.name, before.phase) != (now.name, now.phase):
        run.ctx.event(EventReason.WORKFLOW_FINISHED, message, warning=now.phase != "Succeeded")
    if (reason := workflows.find_failure_reason(now.phase)) is not None:
        await _fail_or_retry(run, now, reason)
        return
    run.set_condition(WORKFLOW_SUCCEEDED, TRUE, Reason.SUCCEEDED, message)
    done = [each for each in run.status.runs if each.name != now.name]
    if run.spec.repeats > 1:
        run.set(runs=(*done, now))
        finished = len([each for each in run.status.runs if each.phase == "Succeeded"])
        if finished < run.spec.repeats and not _find_early_end(run):
            await _submit(run, naming.build_workflow_name(run.ctx.obj, repeat=finished))
            return
    _complete(run, message)


def _complete(run: Run, message: str) -> None:
    """End the experiment after its last workflow, if its completion mode allows it.

    Raises:
        ExperimentFailed: if the condition of mode condition is not met.
    """
    match run.ctx.obj.spec.workflow.completion.mode:
        case "manual" if not limits.is_resumed(run.ctx.obj):
            run.set_reason(
                Reason.AWAITING_RESUME,
                f"{message}; end the experiment with: quarterdeck experiments resume "
                f"{run.ctx.key.name} -n {run.ctx.key.namespace}",
            )
        case "duration" if (left_s := _compute_left_s(run)) > 0:
            limit = run.spec.workflow.completion.duration
            run.set_reason(Reason.AWAITING_DURATION, f"{message}; the experiment runs for {limit}")
            run.requeue_after(left_s)
        case "condition":
            _complete_if_met(run, message)
        case _:
            run.complete(message)


def _complete_if_met(run: Run, message: str) -> None:
    condition = run.spec.workflow.completion.condition
    found = completion.evaluate_condition(run.experiment)
    if not found.is_met:
        text = f"{message}, but the condition {condition!r} is not met: {found.detail}"
        raise ExperimentFailed(Reason.CONDITION_NOT_MET, text)
    run.complete(f"{message}; the condition {condition!r} is met")


def _complete_early(run: Run, now: WorkflowStatus) -> bool:
    """End the experiment while its workflow runs, if its condition or duration is met."""
    why = _find_early_end(run)
    if why:
        message = f"{why}; Workflow {now.name} was {now.phase} and is stopped"
        run.set_condition(WORKFLOW_SUCCEEDED, FALSE, Reason.STOPPED, message)
        run.complete(message)
    return bool(why)


def _find_early_end(run: Run) -> str:
    """Why the condition or duration ends the experiment now; empty if it does not."""
    wanted = run.spec.workflow.completion
    if wanted.mode == "condition" and completion.evaluate_condition(run.experiment).is_met:
        return f"the condition {wanted.condition!r} is met"
    if wanted.mode == "duration":
        left_s = _compute_left_s(run)
        if left_s <= 0:
            return f"the experiment has run for {wanted.duration}"
        run.requeue_after(left_s)
    return ""


def _compute_left_s(run: Run) -> float:
    """Seconds until the duration of mode duration is over, counted from the phase Running."""
    return run.left_s(run.status.phase_started_at, run.spec.workflow.completion.duration)


async def _fail_or_retry(run: Run, now: WorkflowStatus, reason: Reason) -> None:
    failed = [each for each in run.status.runs if workflows.find_failure_reason(each.phase)]
    attempts = len([each for each in failed if each.name != now.name])
    nodes = "; ".join(f"{node.display_name}: {node.message}" for node in now.failed_nodes)
    message = ": ".join(filter(None, (f"Workflow {now.name} ended as {now.phase}", now.message)))
    if nodes:
        message += f" ({nodes})"
    if attempts >= run.spec.retry.workflow:
        raise ExperimentFailed(reason, message, condition=WORKFLOW_SUCCEEDED)
    run.set(runs=(*(each for each in run.status.runs if each.name != now.name), now))
    repeat = len([each for each in run.status.runs if each.phase == "Succeeded"])
    name = naming.build_workflow_name(run.ctx.obj, repeat=repeat, attempt=attempts + 1)
    await _submit(run, name)


async def _handle_absence(run: Run, before: WorkflowStatus) -> None:
    if workflows.is_terminal(before.phase):
        await _end(run, before)
        return
    raise ExperimentFailed(
        Reason.WORKFLOW_LOST,
        f"Workflow {run.settings.workflow_namespace}/{before.name} was deleted while it ran",
        condition=WORKFLOW_SUCCEEDED,
    )


def _check_time(run: Run, workflow: ArgoWorkflow, now: WorkflowStatus) -> None:
    submitted = workflow.metadata.creation_timestamp or now.started_at
    if not workflow.status.phase:
        left_s = run.left_s(submitted, run.spec.timeouts.pickup)
        if left_s <= 0:
            raise ExperimentFailed(
                Reason.WORKFLOW_NOT_PICKED_UP,
                f"no workflow controller started Workflow {now.name} within "
                f"{run.spec.timeouts.pickup}; check that Argo Workflows is running",
                condition=WORKFLOW_SUCCEEDED,
            )
        run.requeue_after(left_s)
    elif limit := run.spec.timeouts.workflow:
        left_s = duration.parse_seconds(limit) + _TIMEOUT_SLACK_S - run.elapsed_s(now.started_at)
        if left_s <= 0:
            raise ExperimentFailed(
                Reason.WORKFLOW_TIMEOUT,
                f"Workflow {now.name} did not end within {limit}",
                condition=WORKFLOW_SUCCEEDED,
            )
        run.requeue_after(left_s)
    progress = f", {now.progress}" if now.progress else ""
    message = f"Workflow {now.name} is {now.phase}{progress}"
    waits = limits.is_manual(run.ctx.obj) and bool(workflows.list_suspended_nodes(workflow))
    reason = Reason.AWAITING_RESUME if waits else Reason.RUNNING
    run.set_condition(WORKFLOW_SUCCEEDED, FALSE, reason, message)
    run.set_reason(reason, message)


async def _resume(run: Run, workflow: ArgoWorkflow) -> None:
    """Resume a suspended workflow once a user has resumed the experiment."""
    if not limits.is_resumed(run.ctx.obj):
        return
    patch = workflows.build_resume_patch(workflow, now=run.format_time(run.now))
    if patch:
        await run.ctx.api.merge(ArgoWorkflow, workflow.key, patch)


async def _submit(run: Run, name: str) -> bool:
    """Submit a workflow, unless it exists; False while a template or address is missing."""
    key = Key(run.settings.workflow_namespace, name)
    existing = await find_own(run, ArgoWorkflow, key)
    if existing is not None and is_stale(existing, run.ctx.obj):
        if not existing.is_deleting:
            await run.ctx.delete(existing)
        run.set_reason(Reason.RUNNING, f"waiting until Workflow {key} of an earlier run is deleted")
        return False
    if existing is None:
        has_template = await _has_template(run)
        if not has_template and run.spec.workflow.on_missing_template == "Fail":
            _wait_for_template(run)
            return False
        if (arguments := _build_arguments(run)) is None:
            return False
        build = workflows.build if has_template else workflows.build_inline
        document = build(run.ctx.obj, name, arguments, run.settings)
        await run.ctx.api.apply(ArgoWorkflow, document)
        run.ctx.event(EventReason.WORKFLOW_SUBMITTED, f"Workflow {key} submitted")
    run.set(
        workflow_status=WorkflowStatus(
            name=name, phase="Pending", started_at=run.format_time(run.now)
        )
    )
    run.set_condition(WORKFLOW_SUCCEEDED, FALSE, Reason.RUNNING, f"Workflow {name} was submitted")
    return True


async def _has_template(run: Run) -> bool:
    workflow = run.ctx.obj.spec.workflow
    if workflow.cluster_scope:
        found = await run.ctx.find(ClusterWorkflowTemplate, workflow.template, "")
        return found is not None
    namespace = run.settings.workflow_namespace
    return await run.ctx.find(WorkflowTemplate, workflow.template, namespace) is not None


def _wait_for_template(run: Run) -> None:
    workflow = run.ctx.obj.spec.workflow
    kind = "ClusterWorkflowTemplate" if workflow.cluster_scope else "WorkflowTemplate"
    where = "" if workflow.cluster_scope else f"{run.settings.workflow_namespace}/"
    message = f"{kind} {where}{workflow.template} does not exist; create it, or correct the name"
    left_s = run.settings.missing_grace_s - run.elapsed_s(run.status.phase_started_at)
    if left_s <= 0:
        raise ExperimentFailed(
            Reason.WORKFLOW_TEMPLATE_NOT_FOUND, message, condition=WORKFLOW_SUCCEEDED
        )
    run.set_condition(WORKFLOW_SUCCEEDED, FALSE, Reason.WORKFLOW_TEMPLATE_NOT_FOUND, message)
    run.set_reason(Reason.WORKFLOW_TEMPLATE_NOT_FOUND, message)
    run.requeue_after(left_s)


def _build_arguments(run: Run) -> dict[str, str] | None:
    """Build the arguments of the workflow; None while a referenced value is not known yet."""
    try:
        scope = plan.build_scope(run.experiment, None, run.by_name)
        return workflows.build_parameters(run.ctx.obj, run.status.targets, scope)
    except NotYet as error:
        check_submission(run)
        run.set_reason(Reason.DEPLOYING, f"spec.workflow.params: {error}")
        run.requeue_after(_ADDRESS_S)
        return None
    except SubstitutionError as error:
        raise ExperimentFailed(
            Reason.PARAMETER_INVALID, f"spec.workflow.params: {error}"
        ) from error
