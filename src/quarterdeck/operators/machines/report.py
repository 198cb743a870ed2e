"""Conditions and messages that all reconcilers share."""

from collections.abc import Iterable, Sequence
from typing import Any

from quarterdeck.meta.conditions import FALSE, TRUE, Status
from quarterdeck.meta.objects import Object
from quarterdeck.operators.machines.conditions import (
    DELETING,
    PROVISIONING,
    READY,
    UNSUPPORTED,
    Reason,
)
from quarterdeck.runtime import Context, Waiting

_BUSY_S = 10.0
_SHOWN = 4


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
    """Set a condition, and record an event if its status or reason is new."""
    if set_condition(ctx, type_, status, reason, message):
        is_warning = status != TRUE if warning is None else warning
        ctx.event(reason, message or reason, warning=is_warning)


def set_provisioning(ctx: Context[Any], status: Status, reason: Reason, message: str) -> None:
    """Set the condition Provisioning, and Ready to False for the same reason."""
    set_condition(ctx, PROVISIONING, status, reason, message)
    set_condition(ctx, READY, FALSE, reason, message)


def report_in_use(ctx: Context[Any], users: Iterable[Object]) -> None:
    """Keep an object that is being deleted while others use it, and report its users.

    Raises:
        Waiting: if there are any.
    """
    names = sorted(f"{each.KIND.kind} {each.key}" for each in users)
    if not names:
        return
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    text = f"used by {', '.join(names[:_SHOWN])}{more}: delete these objects first"
    report_condition(ctx, DELETING, TRUE, Reason.IN_USE, text, warning=True)
    raise Waiting(Reason.IN_USE, text, after_s=_BUSY_S)


def report_unsupported(ctx: Context[Any], fields: Sequence[str]) -> None:
    """Report fields that have no effect in a condition, or set that condition to False."""
    if fields:
        text = f"{', '.join(fields)}: field has no effect; remove it"
        report_condition(ctx, UNSUPPORTED, TRUE, Reason.FIELDS_IGNORED, text, warning=True)
    elif ctx.status.get_transition(UNSUPPORTED)[0] is not None:
        ctx.status.set_condition(UNSUPPORTED, FALSE, Reason.RESOLVED, "all fields have an effect")
