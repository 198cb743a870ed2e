"""What a principal may see: the first policy that matches decides."""

import itertools
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from quarterdeck.inventory.access.filters import HIDDEN, OPEN, TypeFilter
from quarterdeck.inventory.access.principal import MASTERS, Principal
from quarterdeck.inventory.access.program import PolicyProgram, RuleProgram, Subjects
from quarterdeck.inventory.policy import CompiledPolicy
from quarterdeck.kit.patterns import PatternError
from quarterdeck.kit.rfc3339 import TimeError

Decision = Literal["allow", "partial", "deny"]
VIEW = "view"
VIEW_METRICS = "view_metrics"


class ClusterAccess(NamedTuple):
    """What may be seen of a cluster."""

    decision: Decision
    view_metrics: bool = False
    policy: str = ""
    """`namespace/name` of the policy that decided; empty if none did."""
    rule: RuleProgram | None = None

    @property
    def is_visible(self) -> bool:
        """Whether the cluster may be seen at all."""
        return self.decision != "deny"

    @property
    def actions(self) -> tuple[str, ...]:
        """The permitted actions."""
        if not self.is_visible:
            return ()
        return (VIEW, VIEW_METRICS) if self.view_metrics else (VIEW,)

    def get_filter(self, type_: str) -> TypeFilter:
        """What may be seen of a built-in type: everything if the rule does not list it."""
        if not self.is_visible:
            return HIDDEN
        return OPEN if self.rule is None else self.rule.filters.get(type_, OPEN)


class CustomAccess(NamedTuple):
    """What may be seen of a type of a MetricSource on one cluster."""

    filter: TypeFilter
    policy: str
    shows_aggregations: bool
    """Whether the viewer may see metrics of the cluster."""


class BrokenPolicy(NamedTuple):
    """An Allow policy that is ignored because a pattern or a time of it is invalid."""

    policy: CompiledPolicy
    subjects: Subjects
    problem: str


_DENIED = ClusterAccess("deny")


class Viewer:
    """The policies of one principal at one time."""

    def __init__(
        self,
        principal: Principal,
        policies: Iterable[PolicyProgram],
        now: datetime,
        *,
        broken: Iterable["BrokenPolicy"] = (),
    ) -> None:
        self.principal = principal
        self.policies = tuple(policies)
        """The policies that match the principal, in the order in which they are evaluated."""
        self.now = now
        self.broken = tuple(broken)
        """Invalid Allow policies that name the principal; they decide nothing."""

    @property
    def uses_labels(self) -> bool:
        """Whether labels of a cluster may decide what is seen of it."""
        return not self.principal.is_master and any(
            program.uses_labels and program.find_reason_to_skip(self.now) is None
            for program in self.policies
        )

    def decide_cluster(self, name: str, labels: Mapping[str, str]) -> ClusterAccess:
        """What may be seen of a cluster."""
        if self.principal.is_master:
            return ClusterAccess("allow", view_metrics=True, policy=MASTERS)
        for program in self.policies:
            verdict, rule = program.decide(name, labels, self.now)
            if not verdict.decides:
                continue
            identity = program.identity
            if not verdict.allows:
                return ClusterAccess("deny", policy=identity, rule=rule)
            if rule is None:
                return ClusterAccess("allow", policy=identity)
            if not rule.is_view:
                return ClusterAccess("deny", policy=identity, rule=rule)
            decision: Decision = "partial" if rule.filters else "allow"
            return ClusterAccess(decision, rule.is_view_metrics, identity, rule)
        return _DENIED

    def decide_type(self, name: str, labels: Mapping[str, str], type_: str) -> CustomAccess | None:
        """What may be seen of a MetricSource's type on a cluster; None if nothing may.

        A type that no rule lists may not be seen. A rule that lists it with visibility none
        leaves it to the next policy.
        """
        cluster = self.decide_cluster(name, labels)
        if not cluster.is_visible:
            return None
        if self.principal.is_master:
            return CustomAccess(OPEN, MASTERS, shows_aggregations=True)
        for program in self.policies:
            verdict, rule = program.decide(name, labels, self.now)
            found = rule.filters.get(type_) if rule is not None else None
            if rule is None or found is None:
                continue
            if not verdict.allows:
                return None
            if rule.is_view and not found.is_hidden:
                return CustomAccess(found, program.identity, cluster.view_metrics)
        return None


class PolicySet:
    """All policies, in order of evaluation.

    Invalid Allow policies are ignored and listed in `broken`. Invalid Deny policies are in force
    and listed in `doubtful`, too.
    """

    def __init__(self, policies: Iterable[CompiledPolicy]) -> None:
        self.broken: dict[str, str] = {}
        """Invalid Allow policies by `namespace/name`, and why they are invalid."""
        self._broken: list[BrokenPolicy] = []
        found = []
        for each in policies:
            try:
                found.append(PolicyProgram(each))
            except (PatternError, TimeError) as error:
                self.broken[f"{each.namespace}/{each.policy_name}"] = str(error)
                self._broken.append(BrokenPolicy(each, Subjects(each), str(error)))
        self.programs = sorted(found, key=lambda each: each.order)
        self.doubtful = {each.identity: each.problem for each in self.programs if each.problem}
        """Invalid Deny policies by `namespace/name`, and why they are invalid."""

    def build_viewer(
        self, principal: Principal, now: datetime, *, limit: int | None = None
    ) -> Viewer:
        """The viewer of a principal at a time, with the first `limit` policies that match it."""
        own = (each for each in self.programs if each.find_subject(principal))
        broken = (each for each in self._broken if each.subjects.find(principal))
        return Viewer(principal, itertools.islice(own, limit), now, broken=broken)
