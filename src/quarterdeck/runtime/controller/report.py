"""How a reconcile ended, told to people: the ready condition, events, and one status write."""

from typing import TypeVar

from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.reconcile.outcome import Outcome

T = TypeVar("T", bound=Object)


async def report(ctx: Context[T], ended: Outcome, controller: Controller[T]) -> None:
    """Complete the draft and apply it, if anything of ours changed."""
    if ended.kind == "conflict":
        return  # nothing is wrong with the object: the retry reads anew
    draft, ready = ctx.status, controller.ready
    if ready and draft.has_conditions:
        _summarise(ctx, ended, ready)
    draft.set_observed_generation()
    body = draft.to_apply()
    if body is not None:
        kind = controller.for_
        subresource = "status" if kind.KIND.subresource_status else ""
        await ctx.api.apply_bytes(kind, ctx.key, body, subresource=subresource)


def _summarise(ctx: Context[T], ended: Outcome, ready: str) -> None:
    """Set the ready condition, and make a failure that is new an event."""
    draft, is_said = ctx.status, ctx.status.was_set(ready)
    match ended.kind:
        case "stalled" | "timeout" | "error":
            draft.set_condition(ready, FALSE, ended.reason, ended.message)
        case "waiting" if not is_said:
            draft.set_condition(ready, FALSE, ended.reason, ended.message)
        case "wait" if not is_said:
            wait = ended.wait
            assert wait is not None
            draft.set_condition(
                ready, FALSE, "Waiting", f"waiting for {wait.kind.KIND.kind} {wait.key}"
            )
        case "done" | "requeue" if not is_said:
            draft.set_condition(ready, TRUE, "Reconciled", "")
    if ended.kind in ("stalled", "error", "timeout"):
        before, after = draft.transition(ready)
        if after is not None and (before is None or before.reason != after.reason):
            ctx.event(after.reason, after.message, warning=True)
