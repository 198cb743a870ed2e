"""Phases Complete and Failed: results, the Job after the run, clean-up, and expiry."""

import msgspec

from quarterdeck.apis.experiments.v1alpha1 import FINALIZER, Experiment
from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.objects import build_owner_reference
from quarterdeck.operators.experiments import naming, plan, registration, workflows
from quarterdeck.operators.experiments.cleanup import clean_up
from quarterdeck.operators.experiments.conditions import (
    ANALYSIS_COMPLETE,
    QUALITY_GATE,
    RESOURCES_CLEANED,
    RESULTS_COLLECTED,
    EventReason,
    Reason,
)
from quarterdeck.operators.experiments.foreign import PostRunJob
from quarterdeck.operators.experiments.ports import (
    Collected,
    FinishedRun,
    FinishedTarget,
    ResultsUnavailable,
)
from quarterdeck.operators.experiments.run import ExperimentFailed, Run
from quarterdeck.operators.experiments.substitution import SubstitutionError
from quarterdeck.runtime.reconcile import finalizer
from quarterdeck.wire.status import ApiError, Invalid

_COLLECTION_S = 600.0
"""How long to try to collect results before the clusters are deleted without them."""
_JOB_CREATION_S = 600.0
"""How long to try to create the Job after the run before the clusters are deleted without it."""
_ORPHAN_CHECK_S = 600.0
_AT_ONCE_S = 0.001


async def step(run: Run) -> None:
    """Continue after the end of a run: results, Job, clean-up, finalizer, and expiry."""
    if not run.status.resources_cleaned and not await _finish_results_and_cleanup(run):
        return
    if FINALIZER in run.ctx.obj.metadata.finalizers and run.status.resources_cleaned:
        if not run.ctx.obj.status.resources_cleaned:
            run.requeue_after(_AT_ONCE_S)  # the finalizer stays until `resources_cleaned` is stored
            return
        await finalizer.remove(run.ctx.obj, run.ctx.api, FINALIZER)
    await _expire(run)


async def _finish_results_and_cleanup(run: Run) -> bool:
    """Continue results, the Job and the clean-up; returns whether all of them are done."""
    return await _collect(run) and await _run_job(run) and await _clean(run)


# --- results


async def _collect(run: Run) -> bool:
    """Collect results; returns whether that is done."""
    if run.find_condition(RESULTS_COLLECTED) is not None and run.status.results_url:
        return True
    if not any(each.cluster_name for each in run.status.targets):
        run.set(results_url="disabled")
        run.set_condition(RESULTS_COLLECTED, FALSE, Reason.NOT_REQUESTED, "nothing was run")
        return True
    try:
        found = await run.environment.results.collect(await _build_finished_run(run))
    except ResultsUnavailable as error:
        return _try_again(run, str(error))
    except Exception as error:  # whatever it is, it must not keep the clusters for ever
        if not _try_again(run, f"{type(error).__name__}: {error}"):
            raise
        return True
    return _note_results(run, found)


async def _build_finished_run(run: Run) -> FinishedRun:
    targets = []
    for target in run.targets:
        status, text = run.get_target(target.name), None
        if status.ready_at:
            try:
                text = await registration.read_target_kubeconfig(run, target)
            except ExperimentFailed:
                text = None
        targets.append(
            FinishedTarget(
                name=target.name,
                cluster_type=target.cluster.type,
                cluster_name=status.cluster_name,
                namespace=naming.build_base_name(run.ctx.obj),
                kubeconfig=text,
            )
        )
    ended = rfc3339.parse(run.status.completed_at) if run.status.completed_at else run.now
    return FinishedRun(run.experiment, tuple(targets), ended, run.now)


def _try_again(run: Run, message: str) -> bool:
    elapsed_s = run.elapsed_s(run.status.completed_at)
    run.set_condition(RESULTS_COLLECTED, FALSE, Reason.RESULTS_UNAVAILABLE, message)
    if elapsed_s >= _COLLECTION_S:
        run.set(results_url="disabled")
        run.ctx.event(Reason.RESULTS_UNAVAILABLE, redact(message), warning=True)
        return True
    run.requeue_after(min(60.0, max(1.0, elapsed_s / 2)))
    return False


def _note_results(run: Run, found: Collected) -> bool:
    run.set(
        hypothesis_result=found.verdict,
        iteration_status=found.iteration,
        cost_estimate=found.cost,
    )
    if found.retry_after_s is not None:
        run.set_condition(RESULTS_COLLECTED, FALSE, Reason.COLLECTING, found.message)
        run.requeue_after(found.retry_after_s)
        return False
    run.set(results_url=found.results_url)
    run.set_condition(RESULTS_COLLECTED, TRUE, Reason.COLLECTED, found.message)
    if found.failure and run.phase == "Complete":
        reason = Reason(found.failure)
        completed = run.status.completed_at
        run.fail(ExperimentFailed(reason, found.message, condition=QUALITY_GATE))
        run.set(completed_at=completed)
    run.requeue_after(
        _AT_ONCE_S
    )  # stored first: without clusters they could not be collected again
    return False


# --- the Job after the run


async def _run_job(run: Run) -> bool:
    """Run the Job after the run; returns whether it is done. Its failure changes no outcome."""
    if run.status.analysis_phase in ("Succeeded", "Failed", "Skipped") or run.phase != "Complete":
        return True
    try:
        document = plan.build_post_run_job(
            run.experiment, results_url=run.status.results_url, settings=run.settings
        )
    except SubstitutionError as error:
        return _fail_job(run, f"cannot build the Job of spec.postRun: {error}")
    if document is None:
        return True
    owner = build_owner_reference(run.ctx.obj)
    document["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
        }
    ]
    name = document["metadata"]["name"]
    run.set(analysis_job_name=name)
    job = await run.ctx.find(PostRunJob, name)
    if job is None and run.status.analysis_phase:
        run.set(analysis_phase="Failed")
        run.set_condition(ANALYSIS_COMPLETE, FALSE, Reason.JOB_FAILED, f"Job {name} was deleted")
        return True
    if job is None:
        try:
            job = await run.ctx.api.apply(PostRunJob, document)
        except ApiError as error:
            message = f"cannot create Job {name}: {error.message}"
            run.set_condition(ANALYSIS_COMPLETE, FALSE, Reason.JOB_FAILED, message)
            if not isinstance(error, Invalid) and _failed_s(run) < _JOB_CREATION_S:
                raise
            return _fail_job(run, message)
    return _note_job(run, job)


def _failed_s(run: Run) -> float:
    """Seconds since the Job could not be created for the first time."""
    began = run.find_condition(ANALYSIS_COMPLETE)
    return run.elapsed_s(began.last_transition_time) if began is not None else 0.0


def _fail_job(run: Run, message: str) -> bool:
    """Record that the Job failed; the clean-up goes on."""
    run.set(analysis_phase="Failed")
    run.set_condition(ANALYSIS_COMPLETE, FALSE, Reason.JOB_FAILED, message)
    run.ctx.event(Reason.JOB_FAILED, redact(message), warning=True)
    return True


def _note_job(run: Run, job: PostRunJob) -> bool:
    ended = {each.type: each for each in job.status.conditions if each.status == "True"}
    name = job.metadata.name
    if "Complete" in ended:
        run.set(analysis_phase="Succeeded", published=bool(run.spec.publish))
        run.set_condition(ANALYSIS_COMPLETE, TRUE, Reason.SUCCEEDED, f"Job {name} has succeeded")
        return True
    if (failed := ended.get("Failed")) is not None:
        return _fail_job(run, f"Job {name} failed: {failed.message or failed.reason}")
    run.set(analysis_phase="Running" if job.status.active else "Pending")
    run.set_condition(ANALYSIS_COMPLETE, FALSE, Reason.RUNNING, f"Job {name} runs")
    return False


# --- clean-up


def keeps_resources(experiment: Experiment) -> bool:
    """Whether the clean-up policy keeps all objects after the run."""
    policy = experiment.spec.cleanup_policy
    return policy == "Never" or (policy == "OnSuccess" and experiment.status.phase == "Failed")


async def _clean(run: Run) -> bool:
    """Clean up; returns whether that is done, or the policy keeps the objects."""
    if keeps_resources(run.experiment):
        message = f"cleanupPolicy is {run.spec.cleanup_policy}; delete the experiment to clean up"
        run.set_condition(RESOURCES_CLEANED, FALSE, Reason.RETAINED, message)
        return True
    before = run.find_condition(RESOURCES_CLEANED)
    if before is None or before.reason == Reason.RETAINED:
        run.ctx.status.remove_condition(RESOURCES_CLEANED)  # its time is when clean-up began
        run.set_condition(RESOURCES_CLEANED, FALSE, Reason.CLEANING_UP, "clean-up begins")
    began = run.find_condition(RESOURCES_CLEANED)
    elapsed_s = run.elapsed_s(began.last_transition_time) if began is not None else 0.0
    left = await clean_up(run, elapsed_s=elapsed_s)
    if not left:
        finish_cleanup(run)
        return True
    note_leftovers(run, left, elapsed_s=elapsed_s)
    return False


def finish_cleanup(run: Run) -> None:
    """Record that nothing is left; a workflow that was still running is recorded as stopped."""
    run.set(resources_cleaned=True, cleaned_at=run.format_time(run.now))
    last = run.status.workflow_status
    if last is not None and not workflows.is_terminal(last.phase):
        stopped = msgspec.structs.replace(
            last, phase=workflows.STOPPED, finished_at=run.format_time(run.now)
        )
        run.set(workflow_status=stopped)
    message = "all created objects are deleted"
    run.set_condition(RESOURCES_CLEANED, TRUE, Reason.CLEANED, message)
    run.ctx.event(EventReason.CLEANUP_DONE, message)


def note_leftovers(run: Run, left: list[str], *, elapsed_s: float) -> bool:
    """Report the objects that are left; True if `spec.timeouts.cleanup` is over."""
    limit_s = duration.parse_seconds(run.spec.timeouts.cleanup)
    names = ", ".join(left)
    if elapsed_s < limit_s:
        message = f"waiting for the deletion of {names}"
        run.set_condition(RESOURCES_CLEANED, FALSE, Reason.CLEANING_UP, message)
        run.requeue_after(min(limit_s - elapsed_s, run.settings.resync_s))
        return False
    before = run.ctx.status.get_transition(RESOURCES_CLEANED)[0]
    message = f"not deleted within {run.spec.timeouts.cleanup}: {names}"
    run.set_condition(RESOURCES_CLEANED, FALSE, Reason.ORPHANED, message)
    if before is None or before.reason != Reason.ORPHANED:
        run.ctx.event(EventReason.CLEANUP_STUCK, message, warning=True)
    run.requeue_after(_ORPHAN_CHECK_S)
    return True


async def _expire(run: Run) -> None:
    """Delete the experiment after `spec.ttlSecondsAfterFinished`."""
    ttl_s = run.spec.ttl_seconds_after_finished
    if ttl_s is None or not run.status.completed_at:
        return
    left_s = ttl_s - run.elapsed_s(run.status.completed_at)
    if left_s > 0:
        run.requeue_after(left_s)
    else:
        await run.ctx.delete(run.ctx.obj)
