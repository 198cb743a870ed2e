"""Small sentences that every reconciler says the same way."""

from collections.abc import Sequence
from typing import Any

from quarterdeck.meta.conditions import FALSE, TRUE, Status
from quarterdeck.operators.machines.conditions import UNSUPPORTED, Reason
from quarterdeck.runtime import Context


def set_condition(
    ctx: Context[Any], type_: str, status: Status, reason: Reason, message: str = ""
) -> bool:
    """Set a condition; True if its status or reason is new."""
    ctx.status.set_condition(type_, status, reason, message)
    before, after = ctx.status.get_transition(type_)
    return (
        before is None
        or after is None
        or (before.status, before.reason) != (after.status, after.reason)
    )


def report_condition(
    ctx: Context[Any],
    type_: str,
    status: Status,
    reason: Reason,
    message: str = "",
    *,
    warning: bool | None = None,
) -> None:
    """Set a condition, and make an event of it if it is new."""
    if set_condition(ctx, type_, status, reason, message):
        is_warning = status != TRUE if warning is None else warning
        ctx.event(reason, message or reason, warning=is_warning)


def report_unsupported(ctx: Context[Any], fields: Sequence[str]) -> None:
    """Name the fields that nothing acts on, or take the condition back."""
    if fields:
        text = f"nothing acts on {', '.join(fields)}: remove the field, or expect no effect"
        report_condition(ctx, UNSUPPORTED, TRUE, Reason.FIELDS_IGNORED, text, warning=True)
    elif ctx.status.get_transition(UNSUPPORTED)[0] is not None:
        ctx.status.set_condition(UNSUPPORTED, FALSE, Reason.RESOLVED, "every field is acted on")
