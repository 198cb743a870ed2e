"""The reconciler of Collector: the only writer of a collector's attributes, name and switch.

It creates no collectors: agents register themselves. The status shows the state of a collector on
the server, also if the spec sets nothing.
"""

from collections.abc import Mapping
from typing import Any, Literal

from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    FORCE_DELETE,
    Collector,
    ExternalAttributeSync,
    RemoteAttributePolicy,
)
from quarterdeck.kit.plural import format_count
from quarterdeck.meta.conditions import TRUE
from quarterdeck.operators.pipelines.attributes import list_layers, plan_operations, resolve_owners
from quarterdeck.operators.pipelines.conditions import READY, SYNCED, Reason
from quarterdeck.operators.pipelines.failures import to_reconcile_error, to_unavailable
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.pipeline import get_annotation
from quarterdeck.operators.pipelines.ports import (
    HIDDEN_MESSAGE,
    CallFailed,
    CollectorState,
    Paused,
    RemoteCollector,
)
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting
from quarterdeck.telemetry.fleet.codes import Code

BY_ID = "collector-id"
"""Index of Collectors by the id of their collector."""
UNREGISTERED_RETRY_S = 30.0
_TYPES: dict[str, Literal["Alloy", "OpenTelemetryCollector"]] = {
    "COLLECTOR_TYPE_ALLOY": "Alloy",
    "COLLECTOR_TYPE_OTEL": "OpenTelemetryCollector",
}


class CollectorObjects:
    """Reconciles Collectors."""

    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets

    async def reconcile(self, collector: Collector, ctx: Context[Collector]) -> RequeueAfter:
        """Sync attributes, name and switch to the server, and its state to the status."""
        fleet = await self._fleets.get_fleet(collector, ctx)
        try:
            remote = await fleet.agents.find(collector.spec.id)
            if remote is None:
                ctx.status.set(registered=False)
                raise Waiting(
                    Reason.NOT_REGISTERED,
                    f"collector {collector.spec.id!r} has not registered with the fleet server",
                    after_s=UNREGISTERED_RETRY_S,
                )
            owner = await self._choose_owner(collector, fleet, ctx)
            await self._ensure(collector, owner, remote, fleet, ctx)
            states = await fleet.agents.get_states()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        _show(remote, states.get(remote.id), fleet, ctx)
        after_s = max(10.0, fleet.address.interval_s)
        if owner.key != collector.key and _has_claims(collector):
            raise Waiting(
                Reason.NAME_CONFLICT,
                f"spec.id: the attributes of collector {collector.spec.id!r} are set by Collector "
                f"{owner.key}: delete one of the two",
                after_s=after_s,  # the state of the collector is shown all the same
            )
        return RequeueAfter(after_s)

    async def _choose_owner(
        self, collector: Collector, fleet: Fleet, ctx: Context[Collector]
    ) -> Collector:
        """The only object that sets attributes of a collector: the oldest whose spec sets any.

        Two that set them would undo each other's changes.
        """
        others = await ctx.list(Collector, index=(BY_ID, collector.spec.id))
        rivals = [each for each in others if each.key != collector.key and not each.is_deleting]
        shared = [each for each in rivals if await self._fleets.is_tenant_of(each, fleet, ctx)]
        return min([collector, *shared], key=_build_rank)

    async def _ensure(
        self,
        collector: Collector,
        owner: Collector,
        remote: RemoteCollector,
        fleet: Fleet,
        ctx: Context[Collector],
    ) -> None:
        """Set what the owner wants; another object only removes what it had set before."""
        layers = list_layers(
            owner,
            remote,
            policies=await self._share_fleet(RemoteAttributePolicy, fleet, ctx),
            syncs=await self._share_fleet(ExternalAttributeSync, fleet, ctx),
        )
        owners = resolve_owners(layers)
        wanted = {each.key: each.value for each in owners}
        owned = await self._list_owned(collector, fleet, ctx)
        operations = plan_operations(wanted, remote.remote, owned)
        if owner.key != collector.key:
            operations = [each for each in operations if each["op"] == "REMOVE"]
        if operations:
            await fleet.api.update_attributes([remote.id], operations)
            fleet.agents.forget()
        if owner.key == collector.key:
            await _ensure_record(collector, remote, fleet)
        else:
            wanted, owners = {}, ()
        if operations:
            ctx.event(Reason.UPDATED, f"changed {format_count(len(operations), 'attribute')}")
        ctx.status.set(
            effective_remote_attributes=wanted,
            attribute_owners=owners,
            connection=fleet.name,  # where a deletion removes them
        )

    async def _list_owned(
        self, collector: Collector, fleet: Fleet, ctx: Context[Collector]
    ) -> Mapping[str, str]:
        """The attributes that the object set on a server.

        If it was on another server before, those are removed there, or an event names them.
        """
        owned, name = collector.status.effective_remote_attributes, collector.status.connection
        if not owned or not name or name == fleet.name:
            return owned
        problem = "the connection no longer exists"
        try:
            before = await self._fleets.find_named(name, ctx)
            if before is not None and before.address.tenant == fleet.address.tenant:
                return owned
            if before is not None:
                await _remove_attributes(collector, before)
                return {}
        except (CallFailed, Paused, Stalled) as error:
            problem = str(error)
        text = f"attributes {', '.join(sorted(owned))} remain on the server of {name}: {problem}"
        ctx.event(Reason.ORPHANED, text, warning=True)
        return {}

    async def _share_fleet(self, kind: Any, fleet: Fleet, ctx: Context[Any]) -> list[Any]:
        """The objects of a kind that use the same server."""
        present = [each for each in await ctx.list(kind) if not each.is_deleting]
        return [each for each in present if await self._fleets.is_tenant_of(each, fleet, ctx)]

    async def delete(self, collector: Collector, ctx: Context[Collector]) -> None:
        """Remove every attribute that this operator set; the collector itself stays."""
        owned = collector.status.effective_remote_attributes
        is_forced = get_annotation(collector.metadata.annotations, FORCE_DELETE) == "true"
        if is_forced or not owned:
            return
        fleet = await self._fleets.find_sent_to(collector, ctx)
        if fleet is None:
            return  # the connection is gone, and with it the way to the attributes
        try:
            await _remove_attributes(collector, fleet)
        except CallFailed as error:
            raise to_unavailable(error) from error
        except Paused as error:
            raise to_reconcile_error(error) from error


async def _remove_attributes(collector: Collector, fleet: Fleet) -> None:
    """Remove the attributes that the object set on a server; a collector may be gone there.

    Raises:
        CallFailed, Paused: if the server cannot be written.
    """
    owned = collector.status.effective_remote_attributes
    try:
        operations = plan_operations({}, owned, owned)
        await fleet.api.update_attributes([collector.spec.id], operations)
    except CallFailed as error:
        if error.code is not Code.NOT_FOUND:
            raise
    fleet.agents.forget()


def _build_rank(collector: Collector) -> tuple[bool, str, str]:
    created_at = str(collector.metadata.creation_timestamp or "")
    return (not _has_claims(collector), created_at, str(collector.key))


def _has_claims(collector: Collector) -> bool:
    """Whether the spec sets anything; a discovered Collector does not, and only shows a state."""
    spec = collector.spec
    return bool(spec.remote_attributes or spec.name) or spec.enabled is not None


async def _ensure_record(collector: Collector, listed: RemoteCollector, fleet: Fleet) -> None:
    """Set name and switch where the spec has them and the server differs.

    The call replaces the remote attributes as well, so they are read right before.
    """
    if _choose_record(collector, listed) == (listed.name, listed.enabled):
        return
    remote = await fleet.api.get_collector(listed.id)
    if remote is None:
        return  # deleted meanwhile
    name, enabled = _choose_record(collector, remote)
    await fleet.api.update_collector(
        {
            "id": remote.id,
            "name": name,
            "enabled": enabled,
            "remoteAttributes": dict(remote.remote),
            "collectorType": remote.type,
        }
    )
    fleet.agents.forget()


def _choose_record(collector: Collector, remote: RemoteCollector) -> tuple[str, bool]:
    spec = collector.spec
    return spec.name or remote.name, remote.enabled if spec.enabled is None else spec.enabled


def _show(
    remote: RemoteCollector, state: CollectorState | None, fleet: Fleet, ctx: Context[Collector]
) -> None:
    ctx.status.set(
        registered=True,
        name=ctx.obj.spec.name or remote.name,
        enabled=remote.enabled if ctx.obj.spec.enabled is None else ctx.obj.spec.enabled,
        collector_type=_TYPES.get(remote.type, "Unspecified"),
        created_at=remote.created_at,
        updated_at=remote.updated_at,
        marked_inactive_at=remote.marked_inactive_at,
        local_attributes=dict(remote.local),
    )
    if state is not None:
        ctx.status.set(
            last_ping=state.last_seen,
            config_status=state.status,
            config_error=HIDDEN_MESSAGE if _is_hidden(state, fleet) else state.error_message,
            pipelines=state.pipelines,
        )
    text = "the attributes on the server match the spec"
    ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
    ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)


def _is_hidden(state: CollectorState, fleet: Fleet) -> bool:
    """Whether the error of a collector may repeat contents of a Secret that it runs."""
    known = [fleet.view.find_by_name(each) for each in state.pipelines]
    return bool(state.error_message) and any(each is None or each.is_secret for each in known)
