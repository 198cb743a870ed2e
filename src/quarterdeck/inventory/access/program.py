"""A compiled policy, which decides about clusters."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from quarterdeck.engine.namespaces import compile_wildcard
from quarterdeck.inventory.access.filters import TypeFilter
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.policy import CompiledPolicy, CompiledRule
from quarterdeck.kit import rfc3339
from quarterdeck.kit.patterns import PatternError, compile_re2

_WILDCARDS = frozenset("*?")


class Verdict(Enum):
    """The decision of a policy about a cluster."""

    DISABLED = "the policy is disabled"
    NOT_YET = "the policy is not valid yet"
    EXPIRED = "the policy has expired"
    SILENT = "no rule selects the cluster"
    ALLOW = "a rule allows the cluster"
    DENY = "a rule denies the cluster"
    DEFAULT_ALLOW = "no rule selects the cluster, and the default allows it"
    DEFAULT_DENY = "no rule selects the cluster, and the default denies it"

    @property
    def decides(self) -> bool:
        """Whether the verdict is final, so that later policies are not evaluated."""
        return self in _DECIDING

    @property
    def allows(self) -> bool:
        """Whether the cluster may be seen, as far as the permissions of the rule allow it."""
        return self in (Verdict.ALLOW, Verdict.DEFAULT_ALLOW)


_DECIDING = frozenset({Verdict.ALLOW, Verdict.DENY, Verdict.DEFAULT_ALLOW, Verdict.DEFAULT_DENY})


class RuleProgram:
    """A compiled rule of a policy.

    Raises:
        PatternError: if the pattern is not RE2, unless `is_deny`: then the rule selects every
            cluster, because nobody can tell which ones it was meant to deny.
    """

    def __init__(self, index: int, rule: CompiledRule, *, is_deny: bool = False) -> None:
        self.index = index
        self.is_view = rule.permissions.get("view", True)
        self.is_view_metrics = rule.permissions.get("viewMetrics", False)
        selector = rule.cluster_selector
        names = selector.match_names
        self._names = frozenset(each for each in names if not _WILDCARDS & set(each))
        self._wildcards = [compile_wildcard(each) for each in names if _WILDCARDS & set(each)]
        text = selector.match_pattern
        self._pattern = None
        self.problem = ""
        """Why the pattern is invalid; then the rule selects every cluster."""
        try:
            self._pattern = compile_re2(text) if text else None
        except PatternError as error:
            if not is_deny:
                raise
            self.problem = f"matchPattern of rule {index}: {error}"
        self._labels = selector.match_labels
        self.filters: dict[str, TypeFilter] = {}
        """Filters by type; the first entry of a type wins."""
        for each in rule.resources:
            self.filters.setdefault(each.type, TypeFilter(each))

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the rule selects a cluster; a selector without any criterion selects none."""
        return (
            bool(self.problem)
            or name in self._names
            or any(each.fullmatch(name) for each in self._wildcards)
            or (self._pattern is not None and self._pattern.search(name))
            or self._selects_labels(labels)
        )

    @property
    def uses_labels(self) -> bool:
        """Whether the rule selects clusters by their labels."""
        return bool(self._labels)

    def _selects_labels(self, labels: Mapping[str, str]) -> bool:
        wanted = self._labels
        return bool(wanted) and all(labels.get(name) == text for name, text in wanted.items())


class Subjects:
    """The users, service accounts and groups that a policy names."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self._users = frozenset(policy.users)
        self._names = frozenset((*policy.users, *policy.service_accounts))
        self._groups = frozenset(policy.groups)

    def find(self, principal: Principal) -> str:
        """How the policy matches a principal: `user` or `group:g`; empty if it does not."""
        if principal.username in self._names or (
            principal.email and principal.email in self._users
        ):
            return "user"
        return next((f"group:{each}" for each in principal.groups if each in self._groups), "")


class PolicyDecision(NamedTuple):
    """The decision of a policy about a cluster, and the rule that made it."""

    verdict: Verdict
    rule: RuleProgram | None = None


class PolicyProgram:
    """A policy, compiled once.

    A Deny policy with an invalid pattern or time is in force, because ignoring it would show what
    it hides: an invalid time sets no limit, and a rule with an invalid pattern selects every
    cluster.

    Raises:
        PatternError: if a pattern of an Allow policy is not RE2.
        TimeError: if a time of an Allow policy cannot be parsed.
    """

    def __init__(self, policy: CompiledPolicy) -> None:
        self.policy = policy
        self._is_deny = policy.effect == "Deny"
        self.rules = [
            RuleProgram(index, each, is_deny=self._is_deny)
            for index, each in enumerate(policy.cluster_rules)
        ]
        self._problems = [each.problem for each in self.rules if each.problem]
        self._subjects = Subjects(policy)
        self.uses_labels = any(each.uses_labels for each in self.rules)
        """Whether a rule selects clusters by their labels."""
        self._start = self._parse_limit("notBefore", policy.not_before)
        self._end = self._parse_limit("notAfter", policy.not_after)

    @property
    def problem(self) -> str:
        """What is invalid in a Deny policy, which is in force nevertheless; empty if nothing is."""
        return "; ".join(self._problems)

    @property
    def order(self) -> tuple[int, bool, str]:
        """Sort key: higher priority first, then Deny before Allow, then by name."""
        policy = self.policy
        return (-policy.priority, policy.effect != "Deny", self.identity)

    @property
    def identity(self) -> str:
        """`namespace/name`."""
        return f"{self.policy.namespace}/{self.policy.policy_name}"

    def find_subject(self, principal: Principal) -> str:
        """How the policy matches a principal: `user` or `group:g`; empty if it does not."""
        return self._subjects.find(principal)

    def decide(self, name: str, labels: Mapping[str, str], now: datetime) -> PolicyDecision:
        """Decide on a cluster by the first rule that selects it, else by the default."""
        if (unfit := self.find_reason_to_skip(now)) is not None:
            return PolicyDecision(unfit)
        for rule in self.rules:
            if rule.selects(name, labels):
                return PolicyDecision(Verdict.DENY if self._is_deny else Verdict.ALLOW, rule)
        match self.policy.default_cluster_access:
            case "allow":
                return PolicyDecision(Verdict.DEFAULT_ALLOW)
            case "deny":
                return PolicyDecision(Verdict.DEFAULT_DENY)
            case _:
                return PolicyDecision(Verdict.SILENT)

    def find_reason_to_skip(self, now: datetime) -> Verdict | None:
        """Why the policy does not apply now; None if it does."""
        if self._start is not None and now < self._start:
            return Verdict.NOT_YET
        if self._end is not None and now > self._end:
            return Verdict.EXPIRED
        return None if self.policy.enabled else Verdict.DISABLED

    def _parse_limit(self, name: str, text: str) -> datetime | None:
        try:
            return rfc3339.parse(text) if text else None
        except rfc3339.TimeError as error:
            if not self._is_deny:
                raise
            self._problems.append(f"{name}: {error}")
            return None
