"""The reconciler of MonitorAccessPolicy: computes its state and stores the compiled policy.

The hub API enforces what is stored. A policy with an invalid time or pattern is in state Error: an
Allow policy is ignored then, and a Deny policy denies in doubt. Otherwise notBefore, notAfter and
enabled decide the state, in this order.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.apis.clusterpulse.monitor_access_policy import (
    MonitorAccessPolicy,
    MonitorAccessPolicySpec,
)
from quarterdeck.hubstate import keys, policy_writes
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.inventory.access.lint import KnownType, lint_policy
from quarterdeck.inventory.policy import (
    CompiledPolicy,
    compile_policy,
    list_custom_types,
)
from quarterdeck.kit import rfc3339
from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters import report
from quarterdeck.operators.clusters.conditions import READY, Reason
from quarterdeck.operators.clusters.hub import Hub, StoreProblem
from quarterdeck.runtime import Context, RequeueAfter, Waiting

_RECHECK_S = 1.0
_RETRY_S = 30.0
_IN_DOUBT = (
    "until this is mended the policy denies in doubt: an invalid time sets no limit, and a rule "
    "with an invalid pattern selects every cluster"
)

PolicyContext = Context[MonitorAccessPolicy]


class State(msgspec.Struct, frozen=True):
    """The state of a policy, and when it changes by time."""

    state: str
    message: str
    changes_at: datetime | None = None


class Policies:
    """Reconciles MonitorAccessPolicies."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._stored: dict[Key, tuple[str, str]] = {}
        """Hash and state that this process has stored last."""

    async def reconcile(self, policy: MonitorAccessPolicy, ctx: PolicyContext) -> RequeueAfter:
        """Store the policy and set its status; requeue for when validity begins or ends."""
        spec, now = policy.spec, ctx.now()
        state = compute_state(spec, now)
        types = list_custom_types(spec)
        sources = await ctx.list(MetricSource)
        fingerprint = hash_policy(spec)
        is_new = fingerprint != policy.status.hash or state.state != policy.status.state
        compiled_at = rfc3339.format_time(now) if is_new else policy.status.compiled_at
        subjects = spec.identity.subjects
        ctx.status.set(
            state=state.state,
            message=state.message,
            hash=fingerprint,
            compiled_at=compiled_at,
            affected_users=len(subjects.users),
            affected_groups=len(subjects.groups),
            affected_service_accounts=len(subjects.service_accounts),
            custom_resource_types=len(types),
            custom_resource_warnings=lint_policy(spec, list_known_types(sources)),
        )
        problem = await self._store(policy, state, ctx)
        self._report(state, ctx)
        self._warn(policy, ctx)
        report.set_stored(problem, ctx)
        delay_s = float(self._hub.options.policy_interval_s)
        if problem is not None:
            delay_s = _RETRY_S
        if state.changes_at is not None:
            left_s = (state.changes_at - now).total_seconds()
            delay_s = min(delay_s, max(_RECHECK_S, left_s))
        return RequeueAfter(delay_s)

    async def delete(self, policy: MonitorAccessPolicy, ctx: PolicyContext) -> None:
        """The finalizer: remove the policy and every index that names it."""
        namespace, name = policy.key
        try:
            before = _decode(await self._hub.state.get_fields(keys.policy(namespace, name)))
            writes = policy_writes.plan_deletion(namespace, name, before, ctx.now())
            await self._hub.state.commit(list(writes))
        except HubStateError as error:
            reason = Reason.STORE_UNAVAILABLE
            raise Waiting(reason, str(error), after_s=_RETRY_S) from error

    async def forget(self, key: Key) -> None:
        """Drop the state of an object that was deleted, or that another replica owns now."""
        self._stored.pop(key, None)

    async def _store(
        self, policy: MonitorAccessPolicy, state: State, ctx: PolicyContext
    ) -> StoreProblem | None:
        """Store the policy, unless this process has stored it and the store still has it."""
        now = (ctx.status.current.hash, state.state)
        namespace, name = policy.key
        try:
            found = await self._hub.state.get_fields(keys.policy(namespace, name))
        except HubStateError as error:
            return StoreProblem(Reason.STORE_UNAVAILABLE, str(error))
        if self._stored.get(policy.key) == now and found.get("hash") == ctx.status.current.hash:
            return None
        access = policy.spec.access
        is_counted = access.enabled and (state.state != "Error" or access.effect == "Deny")
        compiled = compile_policy(
            policy.spec,
            name=name,
            namespace=namespace,
            compiled_at=ctx.status.current.compiled_at,
            hash_=ctx.status.current.hash,
        )
        compiled = msgspec.structs.replace(compiled, enabled=is_counted)
        problem = await self._hub.store(
            policy_writes.plan_policy(
                compiled,
                before=_decode(found),
                status={"state": state.state, "message": state.message},
                at=ctx.now(),
                event="expired" if state.state == "Expired" else "compiled",
            )
        )
        if problem is None:
            self._stored[policy.key] = now
        return problem

    def _report(self, state: State, ctx: PolicyContext) -> None:
        is_bad = state.state == "Error"
        status = FALSE if is_bad else TRUE
        ctx.status.set_condition(READY, status, state.state, state.message)
        old, new = ctx.status.get_transition(READY)
        if new is not None and (old is None or old.reason != new.reason):
            ctx.event(state.state, state.message, warning=state.state in ("Error", Reason.EXPIRED))

    def _warn(self, policy: MonitorAccessPolicy, ctx: PolicyContext) -> None:
        """Record an event when probable mistakes change: `kubectl get` does not show them."""
        found = ctx.status.current.custom_resource_warnings
        if found and found != policy.status.custom_resource_warnings:
            ctx.event(Reason.PROBABLE_MISTAKE, "; ".join(found), warning=True)


def _decode(fields: Mapping[str, str]) -> CompiledPolicy | None:
    try:
        return msgspec.json.decode(fields["data"], type=CompiledPolicy)
    except (KeyError, msgspec.DecodeError):  # absent, or of another program
        return None


def compute_state(spec: MonitorAccessPolicySpec, now: datetime) -> State:
    """The state of a policy: Error, Inactive, Expired or Active."""
    problems = find_problems(spec)
    if problems:
        return State("Error", "; ".join(problems))
    validity = spec.lifecycle.validity if spec.lifecycle is not None else None
    start = rfc3339.parse(validity.not_before) if validity and validity.not_before else None
    end = rfc3339.parse(validity.not_after) if validity and validity.not_after else None
    if start is not None and now < start:
        return State("Inactive", "Policy not yet valid", start)
    if end is not None and now > end:
        return State("Expired", "Policy expired")
    if not spec.access.enabled:
        return State("Inactive", "Policy is disabled", end)
    return State("Active", "Policy is active", end)


def find_problems(spec: MonitorAccessPolicySpec) -> list[str]:
    """Everything invalid in a policy; with any problem an Allow policy is ignored."""
    found, is_in_force = [], spec.access.enabled and spec.access.effect == "Deny"
    validity = spec.lifecycle.validity if spec.lifecycle is not None else None
    for name in ("not_before", "not_after"):
        text = getattr(validity, name) if validity is not None else ""
        try:
            if text:
                rfc3339.parse(text)
        except rfc3339.TimeError as error:
            found.append(f"spec.lifecycle.validity.{_to_camel(name)}: {error}")
    if not found and validity and validity.not_before and validity.not_after:
        start, end = rfc3339.parse(validity.not_before), rfc3339.parse(validity.not_after)
        if end <= start:
            is_in_force = False
            found.append(
                f"spec.lifecycle.validity.notAfter: {validity.not_after} is not after notBefore, "
                f"{validity.not_before}, so the policy is never active"
            )
    for index, rule in enumerate(spec.scope.clusters.rules):
        try:
            compile_re2(rule.selector.match_pattern)
        except PatternError as error:
            found.append(f"spec.scope.clusters.rules[{index}].selector.matchPattern: {error}")
    return [*found, _IN_DOUBT] if found and is_in_force else found


def list_known_types(sources: Sequence[MetricSource]) -> dict[str, KnownType]:
    """The types that policies can name, by resourceTypeName, with fields and aggregations."""
    found = {}
    for each in sources:
        spec = each.spec
        names = (*(one.name for one in spec.fields), *(one.name for one in spec.computed))
        found[spec.rbac.resource_type_name] = KnownType(
            fields=frozenset(names),
            filterable=frozenset(spec.rbac.filterable_fields),
            aggregations=frozenset(one.name for one in spec.aggregations),
        )
    return found


def hash_policy(spec: MonitorAccessPolicySpec) -> str:
    """16 hexadecimal digits that change with the spec."""
    plain = msgspec.json.encode(msgspec.to_builtins(spec), order="sorted")
    return sha256(plain).hexdigest()[:16]


def _to_camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
