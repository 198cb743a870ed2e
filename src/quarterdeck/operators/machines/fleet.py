"""The reconciler of Fleet: counts its claims, plans, creates and removes claims."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.fleet import Fleet, FleetRevision
from quarterdeck.apis.hypervisor.names import (
    DELETE_MACHINE,
    PRESERVE,
    SKIP_REMEDIATION,
)
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines import fleet_report
from quarterdeck.operators.machines.claim_metadata import check_labels, generate_name
from quarterdeck.operators.machines.conditions import IMAGE_RESOLVED, Reason
from quarterdeck.operators.machines.desired_fleet import build_desired_fleet
from quarterdeck.operators.machines.features import Features
from quarterdeck.operators.machines.fleet_claim import (
    build_claim,
    build_claim_labels,
    check_selector,
)
from quarterdeck.operators.machines.plan.fleet import Plan, plan_fleet
from quarterdeck.operators.machines.plan.fleet_removal import hash_name
from quarterdeck.operators.machines.plan.fleet_state import DesiredFleet, Member
from quarterdeck.operators.machines.plan.health import compute_next_change_s, find_unhealthy_reason
from quarterdeck.operators.machines.report import report_unsupported, set_condition
from quarterdeck.operators.machines.revisions import (
    append_revision,
    choose_template,
    get_overrides,
    hash_revision,
    record_template,
    resolve_image,
)
from quarterdeck.operators.machines.sizes import compute_seconds_since, parse_seconds
from quarterdeck.operators.machines.support import find_unsupported_in_fleet
from quarterdeck.runtime import Context, RequeueAfter, Stalled
from quarterdeck.runtime.observability.tracing import span

EASE_S = 0.25
"""Shortest time between two reconciles of one spec: combines simultaneous changes."""
_JITTER = 0.1


class Resolved(NamedTuple):
    """The templates and the revision of new machines."""

    templates: tuple[HypervisorMachineTemplate, ...]
    """One for each cluster that machines may be placed on."""
    revision: str

    @property
    def name(self) -> str:
        """The names of the templates."""
        return ",".join(each.metadata.name for each in self.templates)


class Fleets:
    """Reconciles Fleets."""

    def __init__(
        self, *, features: Features, rng: random.Random, monotonic: Callable[[], float]
    ) -> None:
        self._features = features
        self._random = rng
        self._monotonic = monotonic
        self._looked: dict[Key, tuple[float, int]] = {}
        self._took: dict[Key, float] = {}

    async def reconcile(self, fleet: Fleet, ctx: Context[Fleet]) -> RequeueAfter | None:
        """Bring number and revision of the machines in line with the spec."""
        if (left_s := self._debounce(fleet)) > 0:
            return RequeueAfter(left_s)
        started = self._monotonic()
        attributes = {
            "fleet.name": fleet.metadata.name,
            "fleet.namespace": fleet.metadata.namespace,
        }
        try:
            with span("fleet.reconcile", attributes):
                return await self._reconcile(fleet, ctx)
        finally:
            self._took[fleet.key] = self._monotonic() - started

    async def _reconcile(self, fleet: Fleet, ctx: Context[Fleet]) -> RequeueAfter | None:
        report_unsupported(ctx, find_unsupported_in_fleet(fleet))
        claims = list(await ctx.list_owned(MachineClaim))
        try:
            resolved = await self._resolve(fleet, ctx)
        except Stalled:  # no machine can be created, but surplus ones can be removed
            plan, desired = self._plan(fleet, fleet.status.update_revision, claims, ctx)
            surplus = tuple(each for each in plan.remove if each.reason == "ScaleDown")
            plan = plan._replace(create=0, remove=surplus)
            await self._remove(plan, claims, ctx)
            fleet_report.report_changes(plan, ctx)
            fleet_report.report_counts(fleet, plan, desired, ctx)
            raise
        plan, desired = self._plan(fleet, resolved.revision, claims, ctx)
        await self._remove(plan, claims, ctx)
        await self._create(plan, fleet, resolved, claims, ctx)
        self._count_failures(plan, fleet, ctx)
        fleet_report.report_changes(plan, ctx)
        self._remember(fleet, resolved, claims, ctx)
        fleet_report.report(fleet, plan, desired, claims, ctx)
        return _compute_check_s(claims, fleet, plan, ctx.now())

    def _plan(
        self, fleet: Fleet, revision: str, claims: Sequence[MachineClaim], ctx: Context[Fleet]
    ) -> tuple[Plan, DesiredFleet]:
        members = [self._observe(claim, fleet, ctx.now()) for claim in claims]
        desired = build_desired_fleet(fleet, revision, now=ctx.now(), flags=self._features.flags)
        return plan_fleet(members, desired), desired

    async def forget(self, key: Key) -> None:
        """Drop the reconcile times of a deleted fleet."""
        self._looked.pop(key, None)
        self._took.pop(key, None)

    def _debounce(self, fleet: Fleet) -> float:
        """Record that a reconcile runs now and return 0, or return the seconds to wait before it.

        A fleet waits if it was reconciled just before with the same spec. The wait grows with the
        duration of the last reconcile, so that a large fleet does not keep a worker busy.
        """
        now = self._monotonic()
        looked_at, generation = self._looked.get(fleet.key, (float("-inf"), -1))
        ease_s = EASE_S + min(3.0, 10 * self._took.get(fleet.key, 0.0))
        if generation == fleet.metadata.generation and now - looked_at < ease_s:
            return ease_s - (now - looked_at)
        self._looked[fleet.key] = (now, fleet.metadata.generation)
        return 0.0

    async def _resolve(self, fleet: Fleet, ctx: Context[Fleet]) -> Resolved:
        templates = await ctx.list(HypervisorMachineTemplate, namespace=fleet.metadata.namespace)
        found = resolve_image(fleet, templates)
        if isinstance(found, str):
            set_condition(ctx, IMAGE_RESOLVED, FALSE, Reason.IMAGE_NOT_FOUND, found)
            raise Stalled(Reason.IMAGE_NOT_FOUND, found)
        resolved = Resolved(found, hash_revision(fleet, found))
        text = f"machines are created from template {resolved.name}"
        set_condition(ctx, IMAGE_RESOLVED, TRUE, Reason.IMAGE_FOUND, text)
        for template in found:
            labels = build_claim_labels(fleet, template, "")
            check_selector(fleet, labels)
            check_labels(labels)
        return resolved

    def _observe(self, claim: MachineClaim, fleet: Fleet, now: datetime) -> Member:
        status, annotations = claim.status, claim.metadata.annotations
        age_s = compute_seconds_since(claim.metadata.creation_timestamp, now) or 0.0
        is_failed = status.phase == "Failed" or bool(status.failure_reason)
        is_ready = status.phase == "Ready"
        failed_s = _compute_failed_s(claim, now)
        retention_s = parse_seconds(claim.spec.failed_retention)
        return Member(
            name=claim.metadata.name,
            revision=claim.spec.revision,
            age_s=age_s,
            ready_s=compute_seconds_since(status.ready_since, now) if is_ready else None,
            is_deleting=claim.is_deleting,
            is_failed=is_failed,
            was_ready=bool(status.ready_since),
            unhealthy=""
            if is_failed
            else find_unhealthy_reason(claim, fleet.spec.health_check, now),
            is_marked=DELETE_MACHINE in annotations,
            is_kept=is_failed and (annotations.get(PRESERVE) == "true" or failed_s < retention_s),
            is_skipped=SKIP_REMEDIATION in annotations,
            expires_s=self._compute_expires_s(claim, fleet, age_s),
        )

    def _compute_expires_s(self, claim: MachineClaim, fleet: Fleet, age_s: float) -> float | None:
        """Seconds until a machine expires; ±10 % so that machines made together expire apart."""
        lifetime_s = parse_seconds(fleet.spec.max_lifetime)
        if not lifetime_s or not self._features.flags.expiry:
            return None
        share = hash_name(claim.metadata.uid) / 2**32
        return lifetime_s * (1 - _JITTER + 2 * _JITTER * share) - age_s

    async def _remove(
        self, plan: Plan, claims: Sequence[MachineClaim], ctx: Context[Fleet]
    ) -> None:
        by_name = {claim.metadata.name: claim for claim in claims}
        for removal in plan.remove:
            await ctx.delete(by_name[removal.name], propagation="Background")

    async def _create(
        self,
        plan: Plan,
        fleet: Fleet,
        resolved: Resolved,
        claims: Sequence[MachineClaim],
        ctx: Context[Fleet],
    ) -> None:
        taken = {claim.metadata.name for claim in claims}
        counts = Counter(each.spec.template_ref.name for each in claims if not each.is_deleting)
        for _ in range(plan.create):
            name = self._generate_name(fleet.metadata.name, taken)
            taken.add(name)
            template = choose_template(resolved.templates, counts)
            counts[template.metadata.name] += 1
            await ctx.apply(build_claim(fleet, template, name=name, revision=resolved.revision))

    def _count_failures(self, plan: Plan, fleet: Fleet, ctx: Context[Fleet]) -> None:
        """Count failures in a row, after which new machines wait."""
        if any(each.reason == "Failed" for each in plan.remove):
            ctx.status.set(
                failures=fleet.status.failures + 1,
                last_failure_time=rfc3339.format_time(ctx.now()),
            )
        elif plan.available > fleet.status.available_replicas:
            ctx.status.set(failures=0)

    def _generate_name(self, fleet: str, taken: set[str]) -> str:
        while True:
            name = generate_name(fleet, self._random)
            if name not in taken:
                return name

    def _remember(
        self,
        fleet: Fleet,
        resolved: Resolved,
        claims: Sequence[MachineClaim],
        ctx: Context[Fleet],
    ) -> None:
        newest = FleetRevision(
            revision=0,
            hash=resolved.revision,
            image=fleet.spec.image,
            template=resolved.name,
            overrides=get_overrides(fleet),
            template_spec=record_template(resolved.templates),
            created_at=rfc3339.format_time(ctx.now()),
        )
        history = append_revision(
            fleet.status.revisions,
            newest,
            used=frozenset(claim.spec.revision for claim in claims),
            limit=fleet.spec.revision_history_limit,
        )
        if fleet.status.update_revision not in ("", resolved.revision):
            text = f"machines get revision {history[-1].revision} ({resolved.revision})"
            ctx.event(Reason.NEW_REVISION, text)
        ctx.status.set(revisions=history, update_revision=resolved.revision)


def _compute_failed_s(claim: MachineClaim, now: datetime) -> float:
    transitions = claim.status.phase_transitions
    return (compute_seconds_since(transitions[-1].time, now) if transitions else None) or 0.0


def _compute_check_s(
    claims: Sequence[MachineClaim], fleet: Fleet, plan: Plan, now: datetime
) -> RequeueAfter | None:
    check, times = fleet.spec.health_check, []
    if plan.check_s is not None:
        times.append(plan.check_s)
    for claim in claims:
        change_s = compute_next_change_s(claim, check, now)
        if change_s is not None:
            times.append(change_s)
    if plan.outdated or plan.unhealthy:
        times.append(30.0)  # deadlines and budgets move with time
    return RequeueAfter(max(EASE_S, min(times))) if times else None
