"""One reconcile of one object: the steps within their time limit, then the status.

Every exception becomes an outcome; only the cancellation of the worker passes. A reconciler that
awaits a task which others cancelled has failed, and must not end the worker.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar, assert_never

from quarterdeck.kit.tasks import convert_cancellation
from quarterdeck.kit.time_limit import TimeLimit
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.controller.report import apply_status, complete_status
from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.observability.tracing import Tracer
from quarterdeck.runtime.reconcile import finalizer
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.reconcile.outcome import (
    Conflicted,
    Deferred,
    Failed,
    Failure,
    Outcome,
    StalledOutcome,
    TimedOut,
    classify_error,
    classify_result,
)
from quarterdeck.runtime.reconcile.result import Result
from quarterdeck.wire.status import NotFound

T = TypeVar("T", bound=Object)


class AttemptRunner(Generic[T]):
    """Runs the reconcilers and finalizers of one controller."""

    def __init__(
        self,
        controller: Controller[T],
        *,
        metrics: ControllerMetrics,
        log: Logger,
        tracer: Tracer | None,
    ) -> None:
        self._controller = controller
        self._metrics = metrics
        self._log = log
        self._tracer = tracer
        self._finalizers = [step.name for step in controller.finalizers]

    def run(
        self, ctx: Context[T], limit: TimeLimit, *, waited_s: float
    ) -> Coroutine[Any, Any, Outcome]:
        """Reconcile and write the status; whatever is raised becomes the outcome."""
        if self._tracer is None:
            return self._run_within(ctx, limit)
        return self._run_traced(ctx, limit, tracer=self._tracer, waited_s=waited_s)

    async def _run_traced(
        self, ctx: Context[T], limit: TimeLimit, *, tracer: Tracer, waited_s: float
    ) -> Outcome:
        with tracer.reconcile(self._controller.effective_name, ctx.obj, ctx.reconcile_id, waited_s):
            return await self._run_within(ctx, limit)

    async def _run_within(self, ctx: Context[T], limit: TimeLimit) -> Outcome:
        """Run the steps within the time limit, then write the status; both may fail."""
        is_final = False
        outcome: Outcome
        try:
            with limit:
                try:
                    if self._finalizers or ctx.obj.is_deleting:
                        result, is_final = await self._run_steps(ctx)
                    else:
                        result = await self._controller.reconcile(ctx.obj, ctx)
                except asyncio.CancelledError as error:
                    raise convert_cancellation(error) from error
                outcome = classify_result(result)
        except Exception as error:
            outcome = failure = classify_error(error, is_timeout=limit.expired)
            self._call_on_error(ctx, error)
            self._log_failure(ctx, error, failure)
        if is_final:
            return outcome
        try:
            status = complete_status(ctx, outcome, self._controller)
            if status is not None:
                try:
                    await apply_status(ctx, status, self._controller)
                except asyncio.CancelledError as error:
                    raise convert_cancellation(error) from error
        except NotFound:
            pass  # deleted meanwhile: there is no status to write
        except Exception as error:
            failure = classify_error(error)
            self._log_failure(ctx, error, failure)
            if outcome.RESULT != "error":
                outcome = failure
        return outcome

    async def _run_steps(self, ctx: Context[T]) -> tuple[Result | None, bool]:
        """Finalize or reconcile; True with the result when the object may be deleted now."""
        if ctx.obj.is_deleting:
            return await self._finalize(ctx)
        needs = self._controller.needs_finalizers
        if self._finalizers and (needs is None or needs(ctx.obj)):
            held = await finalizer.ensure(ctx.obj, ctx.api, self._finalizers)
            if held is None:
                return None, True
            ctx.obj = held
            if held.is_deleting:
                return await self._finalize(ctx)
        return await self._controller.reconcile(ctx.obj, ctx), False

    async def _finalize(self, ctx: Context[T]) -> tuple[Result | None, bool]:
        steps = [s for s in self._controller.finalizers if s.name in ctx.obj.metadata.finalizers]
        for step in steps:
            await step.run(ctx.obj, ctx)
            left = await finalizer.remove(ctx.obj, ctx.api, step.name)
            if left is None:
                return None, True
            ctx.obj = left
        return None, True

    def _call_on_error(self, ctx: Context[T], error: Exception) -> None:
        if self._controller.on_error is not None:
            try:
                self._controller.on_error(ctx, error)
            except Exception as second:
                self._log.error("on_error failed", error=second, object=str(ctx.key))

    def _log_failure(self, ctx: Context[T], error: Exception, failure: Failure) -> None:
        match failure:
            case Deferred(reason, message) | Conflicted(reason, message):
                ctx.log.debug("reconcile will run again", reason=reason, detail=message)
            case StalledOutcome(reason, message):
                ctx.log.warning(
                    "stalled: waiting for a change of the spec", reason=reason, detail=message
                )
            case Failed(reason, message, is_unexpected=True):
                self._metrics.panics.value += not isinstance(error, OSError)
                ctx.log.error("reconcile failed", error=error, reason=reason, detail=message)
            case TimedOut(reason, message) | Failed(reason, message):
                ctx.log.warning("reconcile failed", reason=reason, detail=message)
            case _:
                assert_never(failure)
