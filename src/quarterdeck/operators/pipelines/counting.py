"""Counts the reconciles of a controller by the reason of the Ready condition they end with."""

import functools
from typing import Any, TypeVar

import msgspec

from quarterdeck.meta.conditions import find
from quarterdeck.meta.objects import Object
from quarterdeck.operators.pipelines.conditions import READY
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.runtime import Context, Controller

T = TypeVar("T", bound=Object)


def count_reconciles(controller: Controller[T], metrics: FleetMetrics) -> Controller[T]:
    """Wrap a controller so that its successes and failures are counted."""
    reconcile, on_error = controller.reconcile, controller.on_error
    kind = controller.for_.KIND.kind

    @functools.wraps(reconcile)
    async def run(obj: T, ctx: Context[T]) -> Any:
        outcome = await reconcile(obj, ctx)
        metrics.count_reconcile(kind, _get_reason(ctx))
        return outcome

    def report(ctx: Context[T], error: Exception) -> None:
        if on_error is not None:
            on_error(ctx, error)
        metrics.count_reconcile(kind, _get_reason(ctx))

    return msgspec.structs.replace(controller, reconcile=run, on_error=report)


def _get_reason(ctx: Context[T]) -> str:
    ready = find(ctx.status.conditions, READY)
    return ready.reason if ready is not None else "Unknown"
