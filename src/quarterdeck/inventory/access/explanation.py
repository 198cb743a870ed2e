"""Explains a decision on access, policy by policy, with the code that makes the decision."""

from collections.abc import Mapping

import msgspec

from quarterdeck.inventory.access.filters import TypeFilter
from quarterdeck.inventory.access.principal import MASTERS
from quarterdeck.inventory.access.program import PolicyDecision, PolicyProgram, Verdict
from quarterdeck.inventory.access.viewer import BrokenPolicy, Decision, Viewer
from quarterdeck.inventory.policy import BUILT_IN_TYPES


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of one policy."""

    policy: str
    """`namespace/name`."""
    source: str
    """How the policy matches the user: `user` or `group:g`."""
    priority: int
    effect: str
    result: str
    """The decision in words."""
    decides: bool
    rule: int | None = None
    """Index of the rule that selects the cluster."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, its reason, and the decision of each policy."""

    user: str
    cluster: str
    type: str
    decision: Decision
    permissions: tuple[str, ...]
    reason: str
    steps: tuple[Step, ...]


def explain(viewer: Viewer, cluster: str, labels: Mapping[str, str], type_: str) -> Explanation:
    """Explain why a viewer may or may not see objects of a type on a cluster."""
    access = viewer.decide_cluster(cluster, labels)
    steps = tuple(_explain_steps(viewer, cluster, labels, type_))
    is_custom = bool(type_) and type_ not in BUILT_IN_TYPES
    decision, reason = access.decision, _explain_cluster(viewer, access.policy, cluster)
    if access.is_visible and is_custom:
        custom = viewer.decide_type(cluster, labels, type_)
        if custom is None:
            decision, reason = "deny", f"no policy lets {viewer.principal.username} see {type_}"
        else:
            decision = "allow" if custom.filter.is_open else "partial"
            reason = f"{custom.policy} lists {type_}: {_describe_filter(custom.filter)}"
    elif access.is_visible and type_:
        found = access.get_filter(type_)
        decision = "deny" if found.is_hidden else "allow" if found.is_open else "partial"
        reason = f"{access.policy} decides: {type_}: {_describe_filter(found)}"
    return Explanation(
        user=viewer.principal.username,
        cluster=cluster,
        type=type_,
        decision=decision,
        permissions=access.actions if decision != "deny" else (),
        reason=reason,
        steps=steps,
    )


def _explain_cluster(viewer: Viewer, policy: str, cluster: str) -> str:
    if policy == MASTERS:
        return f"members of {MASTERS} may see everything"
    if policy:
        return f"{policy} decides about cluster {cluster}"
    if not viewer.policies and viewer.broken:
        return f"every policy that names {viewer.principal.username} is invalid and ignored"
    if not viewer.policies:
        return f"no policy names {viewer.principal.username} or a group of theirs"
    return f"no policy of {viewer.principal.username} selects cluster {cluster}"


def _explain_steps(
    viewer: Viewer, cluster: str, labels: Mapping[str, str], type_: str
) -> "list[Step]":
    found, is_decided = [], viewer.principal.is_master
    for program in viewer.policies:
        decision = program.decide(cluster, labels, viewer.now)
        decides = decision.verdict.decides and not is_decided
        found.append(_explain_policy(viewer, program, decision, type_=type_, decides=decides))
        is_decided = is_decided or decides
    return found + [_explain_broken(viewer, each) for each in viewer.broken]


def _explain_policy(
    viewer: Viewer, program: PolicyProgram, decision: PolicyDecision, *, type_: str, decides: bool
) -> Step:
    policy, rule = program.policy, decision.rule
    return Step(
        policy=program.identity,
        source=program.find_subject(viewer.principal),
        priority=policy.priority,
        effect=policy.effect,
        result=_describe(decision, type_) + _describe_problem(program),
        decides=decides,
        rule=rule.index if rule is not None else None,
    )


def _explain_broken(viewer: Viewer, broken: BrokenPolicy) -> Step:
    policy = broken.policy
    return Step(
        policy=f"{policy.namespace}/{policy.policy_name}",
        source=broken.subjects.find(viewer.principal),
        priority=policy.priority,
        effect=policy.effect,
        result=f"the policy is invalid and ignored: {broken.problem}",
        decides=False,
    )


def _describe(decision: PolicyDecision, type_: str) -> str:
    verdict, rule = decision
    if rule is None:
        return verdict.value
    text = f"rule {rule.index} {'allows' if verdict is Verdict.ALLOW else 'denies'} the cluster"
    if verdict is Verdict.ALLOW and not rule.is_view:
        return f"rule {rule.index} selects the cluster, and its permissions have view: false"
    if not type_:
        return text
    found = rule.filters.get(type_)
    if found is None:
        return f"{text} and does not list {type_}"
    return f"{text} and lists {type_}: {_describe_filter(found)}"


def _describe_problem(program: PolicyProgram) -> str:
    return (
        f"; the policy is invalid and denies in doubt: {program.problem}" if program.problem else ""
    )


def _describe_filter(found: TypeFilter) -> str:
    if found.is_hidden:
        return "nothing may be seen"
    return "everything may be seen" if found.is_open else "what its filters let through"
