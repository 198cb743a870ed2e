"""The reconciler of Experiment: Pending, Provisioning, Ready, Running, Complete or Failed.

A reconcile does every step that is possible and never blocks. Objects it waits for are watched;
timeouts and grace periods end by `RequeueAfter`. Every step can be repeated: names are derived,
objects are applied.
"""

import math

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import rfc3339
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.experiments import (
    adoption,
    datasources,
    deployment,
    finishing,
    limits,
    pending,
    provisioning,
    running,
    tutorials,
)
from quarterdeck.operators.experiments.cleanup import clean_up
from quarterdeck.operators.experiments.conditions import (
    DEPENDENCIES_INSTALLED,
    READY,
    Reason,
)
from quarterdeck.operators.experiments.run import FINISHED, Environment, ExperimentFailed, Run
from quarterdeck.runtime import DONE, Context, RequeueAfter, Result, Waiting
from quarterdeck.wire.status import ApiError, Conflict, NotFound

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 300.0
_MAX_DOUBLINGS = 16
_MISSING_API_S = 10.0
_AT_ONCE_S = 0.001


class Experiments:
    """Reconciles experiments."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def reconcile(self, experiment: Experiment, ctx: Context[Experiment]) -> Result:
        """Do every step that is possible now; returns when to reconcile again at the latest."""
        run = Run(ctx, self._environment)
        if adoption.is_foreign(run.status):
            if not adoption.is_adoptable(run):
                adoption.refuse(run)
                return RequeueAfter(run.settings.resync_s)
            await adoption.adopt(run)
            return RequeueAfter(_AT_ONCE_S)  # the caches have the labels by then
        try:
            await _advance(run)
        except ExperimentFailed as failure:
            run.fail(failure)
        except NotFound as error:
            _note_missing(run, error)
        except Conflict:
            raise
        except ApiError as error:
            if not _fail_if_late(run, error):
                _wait_for_deadline(run, error)
                raise
        if run.is_finished and experiment.status.phase not in FINISHED:
            run.requeue_after(_AT_ONCE_S)  # nothing is deleted before the outcome is stored
        elif run.is_finished:
            await finishing.step(run)
        else:
            run.requeue_after(run.settings.resync_s)
            experiment = run.experiment
            run.requeue_after(
                limits.compute_next_check_s(
                    experiment, now=run.now, settings=self._environment.settings
                )
            )
        return RequeueAfter(run.again_s) if run.again_s is not None else DONE

    async def clean_up(self, experiment: Experiment, ctx: Context[Experiment]) -> None:
        """Delete everything before the object is removed; give up after `spec.timeouts.cleanup`.

        Raises:
            Waiting: while objects are left.
        """
        run = Run(ctx, self._environment)
        if adoption.is_foreign(run.status):
            if not adoption.is_adoptable(run):
                message = adoption.refuse(run)
                raise Waiting(Reason.NOT_TAKEN_OVER, message, after_s=run.settings.resync_s)
            await adoption.mark_objects(run)
            run.set(target_count=len(run.targets))
            raise Waiting(
                Reason.CLEANING_UP, "taken over from another operator", after_s=_AT_ONCE_S
            )
        since = experiment.metadata.deletion_timestamp or run.format_time(run.now)
        elapsed_s = (run.now - rfc3339.parse(since)).total_seconds()
        left = await clean_up(run, elapsed_s=elapsed_s)
        if not left:
            finishing.finish_cleanup(run)
            return
        if finishing.note_leftovers(run, left, elapsed_s=elapsed_s):
            return
        again_s = run.again_s if run.again_s is not None else run.settings.resync_s
        raise Waiting(Reason.CLEANING_UP, f"waiting for {', '.join(left)}", after_s=again_s)


async def _advance(run: Run) -> None:
    """Run the steps of the current phase, and go on as long as they enter another phase."""
    if not run.phase:
        await pending.begin(run)
    while not run.is_finished:
        phase = run.phase
        if (stop := limits.check(run.experiment, now=run.now, settings=run.settings)) is not None:
            if stop.is_success:
                run.complete(stop.message)
                return
            raise ExperimentFailed(stop.reason, stop.message)
        await _step(run)
        if run.phase == phase:
            return


async def _step(run: Run) -> None:
    match run.phase:
        case "Pending":
            await pending.step(run)
        case "Provisioning":
            await _provision(run)
        case "Ready":
            await _prepare(run)
        case "Running":
            await provisioning.check_clusters(run)
            await running.follow(run)
            await tutorials.update(run)


async def _provision(run: Run) -> None:
    await provisioning.ensure_clusters(run)
    await provisioning.check_clusters(run)
    await deployment.ensure_applications(run)
    await datasources.ensure(run)
    provisioning.check_timeout(run)
    deployment.check_timeout(run)
    if provisioning.are_registered(run) and deployment.are_created(run):
        run.enter_phase("Ready", Reason.DEPLOYING, "all Applications exist")
    if run.find_condition(DEPENDENCIES_INSTALLED) is not None:
        run.set_condition(DEPENDENCIES_INSTALLED, TRUE, Reason.VALIDATED, "all kinds are installed")


async def _prepare(run: Run) -> None:
    await provisioning.check_clusters(run)
    await deployment.ensure_applications(run)
    deployment.check_timeout(run)
    if deployment.are_ready(run):
        await tutorials.update(run)
        await running.submit(run)


def _note_missing(run: Run, error: NotFound) -> None:
    """Report a missing kind or namespace of another system, and check again soon."""
    message = f"{error.message}; install the system that provides this kind"
    run.set_condition(DEPENDENCIES_INSTALLED, FALSE, Reason.API_MISSING, message)
    run.set_reason(Reason.API_MISSING, message)
    run.requeue_after(_MISSING_API_S)
    _fail_if_late(run, error)


def _fail_if_late(run: Run, error: ApiError) -> bool:
    """Fail the experiment if a timeout of its phase is over; returns whether it was.

    Otherwise a request that always fails would be repeated until the time to live ends.
    """
    try:
        if run.phase == "Provisioning":
            provisioning.check_timeout(run)
        deployment.check_timeout(run)
        if run.phase == "Ready":
            running.check_submission(run)
    except ExperimentFailed as failure:
        message = f"{failure.message}; the last error: {error.message}"
        run.fail(ExperimentFailed(failure.reason, message, condition=failure.condition))
        return True
    return False


def _wait_for_deadline(run: Run, error: ApiError) -> None:
    """Reconcile at the next deadline, if the next retry would be later than that.

    Raises:
        Waiting: instead of the error, whose delay grows with each retry up to 5 minutes.
    """
    run.requeue_after(
        limits.compute_next_check_s(run.experiment, now=run.now, settings=run.settings)
    )
    left_s = run.again_s if run.again_s is not None else math.inf
    if left_s < compute_retry_delay_s(run.ctx.attempt):
        report_error(run.ctx, error)
        raise Waiting(error.reason, error.message, after_s=left_s) from error


def compute_retry_delay_s(failures: int) -> float:
    """Seconds until the retry after `failures` earlier failures and the current one."""
    return min(LAST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(failures, _MAX_DOUBLINGS))


def needs_finalizer(experiment: Experiment) -> bool:
    """Whether objects may have to be cleaned up when the experiment is deleted."""
    return not experiment.status.resources_cleaned


def report_error(ctx: Context[Experiment], error: Exception) -> None:
    """Report a failed reconcile in the condition Ready; the runtime retries with backoff."""
    if isinstance(error, (Conflict, Waiting)) or ctx.obj.status.phase in FINISHED:
        return
    reason = error.reason if isinstance(error, ApiError) and error.reason else "ReconcileError"
    message = f"{type(error).__name__}: {redact(str(error))}"
    ctx.status.set_condition(READY, FALSE, reason, message[:1024])
