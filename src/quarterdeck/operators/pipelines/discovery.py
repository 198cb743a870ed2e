"""The reconcilers of PipelineDiscovery and CollectorDiscovery: mirror what a server has.

Mirrors have labels instead of owner references, because deleting a discovery must not delete them.
Read-only mirrors are updated from the server; others keep their spec after they were created.
"""

from collections.abc import Set
from typing import Any

from quarterdeck.apis.fleetmanagement.discovery import MAX_CONFLICTS
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    Pipeline,
    PipelineDiscovery,
    PipelineSet,
)
from quarterdeck.kit import duration, rfc3339
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.operators.pipelines.attributes import select_collectors
from quarterdeck.operators.pipelines.canary import OWNER_SUFFIX
from quarterdeck.operators.pipelines.conditions import (
    READY,
    SYNCED,
    TRUNCATED_CONFLICTS,
    Reason,
)
from quarterdeck.operators.pipelines.desired import CONFIG_TYPES
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.mirrors import (
    Outcome,
    apply_mirrors,
    list_mirrors,
    mirror_collector,
    mirror_pipeline,
)
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.removal import (
    confirm_collectors,
    confirm_pipelines,
)
from quarterdeck.runtime import Context, RequeueAfter, Waiting

MIN_INTERVAL_S = 60.0
MAX_REFUSED = 3
"""Maximum number of refusals in a message."""


class Discoveries:
    """Reconciles both kinds of discovery."""

    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets

    async def discover_pipelines(
        self, discovery: PipelineDiscovery, ctx: Context[PipelineDiscovery]
    ) -> RequeueAfter:
        """Create a Pipeline for each pipeline of the server that has none."""
        fleet = await self._fleets.get_fleet(discovery, ctx)
        ctx.status.set(last_sync_time=rfc3339.format_time(ctx.now()))
        try:
            listed = await fleet.api.list()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        existing = await list_mirrors(Pipeline, discovery, ctx)
        owners = (*await ctx.list(Pipeline), *await ctx.list(PipelineSet))
        managed = {each.metadata.uid for each in owners}
        own = {each.metadata.uid for each in existing.values()}
        mirrors = [
            mirror_pipeline(each, discovery)
            for each in listed
            if _is_selected(each, discovery) and _is_free(each, managed, own)
        ]
        is_deletion = discovery.spec.policy.on_pipeline_removed == "Delete"
        removal = confirm_pipelines(fleet.api, listed, is_deletion=is_deletion)
        outcome = await apply_mirrors(Pipeline, mirrors, discovery, ctx, removal=removal)
        ctx.status.set(
            pipelines_observed=len(mirrors),
            pipelines_managed=outcome.managed,
            stale_pipelines=outcome.stale,
        )
        return _finish(outcome, discovery.spec.poll_interval, ctx)

    async def discover_collectors(
        self, discovery: CollectorDiscovery, ctx: Context[CollectorDiscovery]
    ) -> RequeueAfter:
        """Create a Collector for each collector of the server that has none."""
        fleet = await self._fleets.get_fleet(discovery, ctx)
        ctx.status.set(last_sync_time=rfc3339.format_time(ctx.now()))
        try:
            listed = await fleet.agents.list()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        self._fleets.metrics.set_listed_collectors(ctx.key, len(listed))
        chosen = select_collectors(discovery.spec.selector, listed, empty_selects_all=True)
        if not discovery.spec.include_inactive:
            chosen = [each for each in chosen if not each.marked_inactive_at]
        mirrors = [mirror_collector(each, discovery) for each in chosen]
        is_deletion = discovery.spec.policy.on_collector_removed == "Delete"
        removal = confirm_collectors(fleet.api, listed, is_deletion=is_deletion)
        outcome = await apply_mirrors(Collector, mirrors, discovery, ctx, removal=removal)
        ctx.status.set(
            collectors_observed=len(mirrors),
            collectors_managed=outcome.managed,
            stale_collectors=outcome.stale,
        )
        return _finish(outcome, discovery.spec.poll_interval, ctx)


def _is_selected(remote: Remote, discovery: PipelineDiscovery) -> bool:
    selector = discovery.spec.selector
    wanted = CONFIG_TYPES[selector.config_type] if selector.config_type is not None else ""
    if wanted not in ("", remote.config_type):
        return False
    return selector.enabled is None or selector.enabled is remote.enabled


def _is_free(remote: Remote, managed: Set[str], mirrors: Set[str]) -> bool:
    """Whether a pipeline on the server may be mirrored.

    Not if it was written for another Pipeline or a PipelineSet of this cluster, or if a mirror
    would repeat contents of a Secret.
    """
    owner = remote.owner.removesuffix(OWNER_SUFFIX)
    if remote.owner in mirrors:
        return True
    return owner not in managed and not remote.is_secret


def _finish(outcome: Outcome, interval: str, ctx: Context[Any]) -> RequeueAfter:
    ctx.status.set(
        last_success_time=rfc3339.format_time(ctx.now()),
        conflicts=outcome.conflicts[:MAX_CONFLICTS],
    )
    interval_s = max(MIN_INTERVAL_S, duration.parse_seconds(interval))
    if len(outcome.conflicts) > MAX_CONFLICTS:
        listed = f"status lists {MAX_CONFLICTS} of {len(outcome.conflicts)} conflicts"
        ctx.status.set_condition(TRUNCATED_CONFLICTS, TRUE, Reason.TRUNCATED, listed)
    elif find(ctx.status.conditions, TRUNCATED_CONFLICTS) is not None:
        ctx.status.remove_condition(TRUNCATED_CONFLICTS)
    text = f"{outcome.managed} objects, {len(outcome.conflicts)} conflicts"
    if refused := outcome.refused:
        shown = "; ".join(refused[:MAX_REFUSED])
        raise Waiting(
            Reason.VALIDATION_ERROR, f"{text}, {len(refused)} refused: {shown}", after_s=interval_s
        )
    ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
    ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)
    return RequeueAfter(interval_s)
