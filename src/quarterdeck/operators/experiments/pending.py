"""Pending: check everything before anything is created, and record what the run will use."""

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.status import TargetStatus
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.experiments import plan
from quarterdeck.operators.experiments.conditions import SPEC_VALID, EventReason, Reason
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.operators.experiments.validation import validate


async def begin(run: Run) -> None:
    """Record the targets in the status: the first step of an experiment."""
    run.set(
        targets=tuple(TargetStatus(name=target.name, phase="Pending") for target in run.targets),
        target_count=len(run.targets),
    )
    run.enter_phase("Pending", Reason.PROVISIONING, "the experiment is being checked")


async def step(run: Run) -> None:
    """Validate the experiment, record its components, and enter Provisioning.

    Raises:
        ExperimentFailed: with every error of the spec.
    """
    if run.spec.suspend:
        run.set_reason(Reason.SUSPENDED, "spec.suspend is set: the experiment is not started")
        return
    components = plan.index_components(await run.ctx.list(Component))
    checked = validate(run.experiment, components)
    recorded = {}
    problems = list(checked.problems)
    if not problems:
        for target in run.targets:
            recorded[target.name], wrong = plan.record_components(
                run.experiment, target, checked, components, run.settings
            )
            problems += wrong
    checked = checked._replace(problems=tuple(problems))
    if (reason := checked.reason) is not None:
        _report(run, reason, checked.message, can_wait=checked.can_wait)
        return
    for warning in checked.warnings:
        run.ctx.event(EventReason.FIELD_IGNORED, warning, warning=True)
    run.set_condition(SPEC_VALID, TRUE, Reason.VALIDATED, "the spec can be carried out")
    for target in run.targets:
        run.set_target(target.name, resolved_components=recorded[target.name])
    run.enter_phase("Provisioning", Reason.PROVISIONING, "clusters are being created")


def _report(run: Run, reason: Reason, message: str, *, can_wait: bool) -> None:
    """Fail, or wait for Components that may be applied shortly after the experiment."""
    left_s = run.settings.missing_grace_s - run.elapsed_s(run.status.phase_started_at)
    if not can_wait or left_s <= 0:
        raise ExperimentFailed(reason, message, condition=SPEC_VALID)
    run.set_condition(SPEC_VALID, FALSE, reason, message)
    run.set_reason(reason, message)
    run.requeue_after(left_s)
