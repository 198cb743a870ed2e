"""Writes how a reconcile ended into the object: the ready condition, events, one status write."""

from collections.abc import Coroutine
from typing import Any, TypeVar, assert_never

from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.reconcile.outcome import (
    AwaitingObject,
    Conflicted,
    Deferred,
    Failed,
    Outcome,
    Requeued,
    StalledOutcome,
    Succeeded,
    TimedOut,
)

T = TypeVar("T", bound=Object)


def complete_status(ctx: Context[T], outcome: Outcome, controller: Controller[T]) -> bytes | None:
    """Complete the draft; returns the status to apply, None if nothing of ours changed."""
    if outcome.RESULT == "error" and isinstance(outcome, Conflicted):
        return None  # nothing is wrong with the object: the retry reads the newer version
    draft, ready = ctx.status, controller.ready
    if draft.is_discarded:
        return None
    if ready and draft.has_conditions:
        _set_ready(ctx, outcome, ready)
    draft.set_observed_generation()
    return draft.build_apply_configuration()


def apply_status(
    ctx: Context[T], status: bytes, controller: Controller[T]
) -> Coroutine[Any, Any, bytes]:
    """Write the status of `complete_status`."""
    kind = controller.for_
    subresource = "status" if kind.KIND.subresource_status else ""
    return ctx.api.apply_bytes(kind, ctx.key, status, subresource=subresource)


def _set_ready(ctx: Context[T], outcome: Outcome, ready: str) -> None:
    """Set the ready condition, unless a reconcile without a failure has set it itself."""
    draft, is_set = ctx.status, ctx.status.is_condition_set(ready)
    match outcome:
        case Succeeded() | Requeued():  # first, as checks that fail cost most
            if not is_set:
                draft.set_condition(ready, TRUE, "Reconciled", "")
        case StalledOutcome() | TimedOut() | Failed() | Conflicted():
            draft.set_condition(ready, FALSE, outcome.reason, outcome.message)
            _record_new_failure(ctx, ready)
        case Deferred(reason, message):
            if not is_set:
                draft.set_condition(ready, FALSE, reason, message)
        case AwaitingObject(wait):
            if not is_set:
                text = f"waiting for {wait.kind.KIND.kind} {wait.key}"
                draft.set_condition(ready, FALSE, "Waiting", text)
        case _:
            assert_never(outcome)


def _record_new_failure(ctx: Context[T], ready: str) -> None:
    """Record an event for a failure whose reason differs from the previous one."""
    before, after = ctx.status.get_transition(ready)
    if after is not None and (before is None or before.reason != after.reason):
        ctx.event(after.reason, after.message, warning=True)
