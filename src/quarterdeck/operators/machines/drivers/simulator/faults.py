"""Failure rules, evaluated before every call. Seeded, so repeatable."""

import enum
import random
from typing import NamedTuple

import msgspec

from quarterdeck.operators.machines.errors import Code


class FaultKind(enum.StrEnum):
    """How a call fails."""

    ERROR = "error"
    """The call returns an error and has no effect."""
    TIMEOUT = "timeout"
    """The call times out after `delay_s` and has no effect."""
    HANG = "hang"
    """The call times out after an hour and has no effect."""
    PARTIAL = "partial"
    """The call or its task fails, but takes effect in part or as a whole."""
    LOST_RESPONSE = "lost_response"
    """The call takes effect, and its response is lost."""
    STALE_READ = "stale_read"
    """A read returns the state before the last change."""
    AUTH_EXPIRED = "auth_expired"
    """The credentials are refused."""
    LOCK = "lock"
    """The VM is locked by something else."""


class FailureRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls fail, and how. All fields that are set must match."""

    op: str = "*"
    """Operation, such as clone_vm; * for every one."""
    kind: FaultKind = FaultKind.ERROR
    name: str = ""
    """Part of the VM's name."""
    node: str = ""
    nth: int = 0
    """Only the n-th matching call, counted from 1; 0 for every one."""
    times: int = 1
    """How many calls fail; 0 for no limit."""
    probability: float = 1.0
    code: Code = Code.UNAVAILABLE
    """Code of an error."""
    delay_s: float = 30.0
    """How long a timeout takes."""


class Call(NamedTuple):
    """The fields of a call that rules match."""

    operation: str
    name: str = ""
    node: str = ""


class Faults:
    """The failure rules, and how often each has matched."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._rules: list[FailureRule] = []
        self._seen: list[int] = []
        self._done: list[int] = []

    @property
    def rules(self) -> tuple[FailureRule, ...]:
        """All rules, in the order in which they are tried."""
        return tuple(self._rules)

    def add(self, *rules: FailureRule) -> None:
        """Append rules to those that exist."""
        for rule in rules:
            self._rules.append(rule)
            self._seen.append(0)
            self._done.append(0)

    def clear(self) -> None:
        """Remove all rules."""
        self._rules, self._seen, self._done = [], [], []

    def choose(self, call: Call) -> FailureRule | None:
        """The first rule that makes the call fail; None if it succeeds."""
        for index, rule in enumerate(self._rules):
            if _matches(rule, call) and self._fires(index, rule):
                return rule
        return None

    def _fires(self, index: int, rule: FailureRule) -> bool:
        self._seen[index] += 1
        if rule.times and self._done[index] >= rule.times:
            return False
        if rule.nth and self._seen[index] != rule.nth:
            return False
        if rule.probability < 1.0 and self._random.random() >= rule.probability:
            return False
        self._done[index] += 1
        return True


def _matches(rule: FailureRule, call: Call) -> bool:
    return (
        rule.op in ("*", call.operation)
        and (not rule.name or rule.name in call.name)
        and (not rule.node or rule.node == call.node)
    )
