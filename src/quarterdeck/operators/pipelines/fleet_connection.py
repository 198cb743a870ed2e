"""The reconciler of FleetConnection, and the sweep that finds drift.

One call per connection and interval lists all pipelines of the server: it proves that the
credentials work, and finds pipelines that changed there. Only those are reconciled.
"""

import random
from collections.abc import Callable, Sequence

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection, Pipeline
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import plan
from quarterdeck.operators.pipelines.conditions import PERMANENT, READY, SYNCED, Reason
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.ports import CallFailed, Paused
from quarterdeck.operators.pipelines.report import report_failure
from quarterdeck.runtime import Context, Logger, RequeueAfter
from quarterdeck.wire.status import Conflict

FIRST_SWEEP_S = 30.0
"""How soon after its start the operator reads the default server, at the latest."""
JITTER = 0.1


class Connections:
    """Reconciles FleetConnections, and sweeps the default server."""

    def __init__(
        self,
        fleets: Fleets,
        *,
        pipelines: Callable[[], Sequence[Pipeline]],
        enqueue: Callable[[Key], None],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        """`pipelines` lists the cached Pipelines; `enqueue` requests the reconcile of one."""
        self._fleets = fleets
        self._pipelines = pipelines
        self._enqueue = enqueue
        self._clock = clock
        self._random = rng

    async def reconcile(
        self, connection: FleetConnection, ctx: Context[FleetConnection]
    ) -> RequeueAfter:
        """List the server, enqueue changed pipelines, and report whether it can be reached."""
        fleet = await self._fleets.open(connection, ctx)
        try:
            await self.sweep(fleet)
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        users = sum(1 for each in self._pipelines() if each.status.connection == fleet.name)
        ctx.status.set(pipelines=users, last_sync_time=rfc3339.format_time(ctx.now()))
        text = f"connected to {fleet.address.url}"
        ctx.status.set_condition(READY, TRUE, Reason.CONNECTED, text)
        before, _ = ctx.status.get_transition(READY)
        if before is None or before.status != TRUE:
            ctx.event(Reason.CONNECTED, text)
        return RequeueAfter(self._jitter(fleet.address.interval_s))

    async def sweep(self, fleet: Fleet) -> None:
        """List a server, and enqueue Pipelines that changed there or can be retried.

        Those of other connections to the same tenant too: their sweeps find no change any more.

        Raises:
            CallFailed, Paused: if it cannot be read.
        """
        changed = await fleet.sweep()
        owners = fleet.view.list_owners(changed)
        connections = self._fleets.list_names(fleet.address.tenant) | {""}
        for pipeline in self._pipelines():
            if pipeline.status.connection not in connections:
                continue
            if pipeline.metadata.uid in owners or _is_affected(pipeline, changed):
                self._enqueue(pipeline.key)

    async def sweep_default(self, log: Logger) -> None:
        """Sweep the default server periodically; a failure is logged and tried again."""
        fleet = self._fleets.default
        if fleet is None:
            return
        delay_s = min(FIRST_SWEEP_S, fleet.address.interval_s)
        while True:
            await self._clock.sleep(self._jitter(delay_s))
            delay_s = fleet.address.interval_s
            try:
                await self.sweep(fleet)
            except (CallFailed, Paused) as error:
                log.warning("cannot list pipelines of the fleet server", detail=str(error))

    def _jitter(self, seconds: float) -> float:
        return seconds * self._random.uniform(1 - JITTER, 1 + JITTER)


def _is_affected(pipeline: Pipeline, changed: frozenset[str]) -> bool:
    """Whether a pipeline changed on the server, or failed before and can be retried."""
    status = pipeline.status
    if status.id in changed:
        return True
    condition = find(status.conditions, SYNCED)
    return not plan.is_synced(status) and (condition is None or condition.reason not in PERMANENT)


def report_error(ctx: Context[FleetConnection], error: Exception) -> None:
    """Set the Ready condition of a connection that failed."""
    if isinstance(error, Conflict):
        return
    report_failure(ctx, error, (READY,))
