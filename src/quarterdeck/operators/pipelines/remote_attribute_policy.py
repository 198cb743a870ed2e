"""The reconciler of RemoteAttributePolicy: reports the collectors that a policy selects.

The attributes themselves are set by the Collector reconciler, which sees all claims.
"""

from quarterdeck.apis.fleetmanagement.v1alpha1 import RemoteAttributePolicy
from quarterdeck.meta.conditions import FALSE, TRUE, find
from quarterdeck.operators.pipelines.attributes import select_collectors
from quarterdeck.operators.pipelines.conditions import READY, SYNCED, TRUNCATED, Reason
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.ports import CallFailed, Paused
from quarterdeck.runtime import Context, RequeueAfter

MAX_LISTED = 1000


class Policies:
    """Reconciles RemoteAttributePolicies."""

    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets

    async def reconcile(
        self, policy: RemoteAttributePolicy, ctx: Context[RemoteAttributePolicy]
    ) -> RequeueAfter:
        """Count the collectors that the policy selects."""
        fleet = await self._fleets.get_fleet(policy, ctx)
        try:
            collectors = await fleet.agents.list()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        found = select_collectors(policy.spec.selector, collectors, empty_selects_all=False)
        ids = sorted(each.id for each in found)
        ctx.status.set(matched_count=len(ids), matched_collector_ids=tuple(ids[:MAX_LISTED]))
        text = f"{len(ids)} of {len(collectors)} collectors are selected"
        ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)
        if ids:
            ctx.status.set_condition(READY, TRUE, Reason.MATCHED, text)
        else:
            ctx.status.set_condition(READY, FALSE, Reason.NO_MATCH, text)
        if len(ids) > MAX_LISTED:
            listed = f"status lists {MAX_LISTED} of {len(ids)} collectors"
            ctx.status.set_condition(TRUNCATED, TRUE, Reason.TRUNCATED, listed)
        elif find(ctx.status.conditions, TRUNCATED) is not None:
            ctx.status.remove_condition(TRUNCATED)
        return RequeueAfter(max(10.0, fleet.address.interval_s))
