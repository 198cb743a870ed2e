"""What goes wrong, and when: rules that are asked before every call. Seeded, so repeatable."""

import enum
import random
from typing import NamedTuple

import msgspec

from quarterdeck.operators.machines.errors import Code


class FaultKind(enum.StrEnum):
    """How a call goes wrong."""

    ERROR = "error"
    """An error, and nothing happened."""
    TIMEOUT = "timeout"
    """No answer for a while, and nothing happened."""
    HANG = "hang"
    """No answer for an hour, and nothing happened."""
    PARTIAL = "partial"
    """It happens in part: the task fails and leaves something behind, or reports a failure."""
    LOST_RESPONSE = "lost_response"
    """It happens, and the answer is lost."""
    STALE_READ = "stale_read"
    """A read shows what was before the last change."""
    AUTH_EXPIRED = "auth_expired"
    """The credentials are refused."""
    LOCK = "lock"
    """The VM is locked by something else."""


class FailureRule(msgspec.Struct, frozen=True, kw_only=True):
    """When a call goes wrong. All that is set must match."""

    op: str = "*"
    """Operation, such as clone_vm; * for every one."""
    kind: FaultKind = FaultKind.ERROR
    name: str = ""
    """Part of the VM's name."""
    node: str = ""
    nth: int = 0
    """Only the n-th matching call, counted from 1; 0 for every one."""
    times: int = 1
    """How often; 0 for ever."""
    probability: float = 1.0
    code: Code = Code.UNAVAILABLE
    """Code of an error."""
    delay_s: float = 30.0
    """How long a timeout takes."""


class Call(NamedTuple):
    """A call as rules see it."""

    operation: str
    name: str = ""
    node: str = ""


class Faults:
    """The rules in force, and how often each has matched."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._rules: list[FailureRule] = []
        self._seen: list[int] = []
        self._done: list[int] = []

    @property
    def rules(self) -> tuple[FailureRule, ...]:
        """The rules in force."""
        return tuple(self._rules)

    def add(self, *rules: FailureRule) -> None:
        """Put rules in force, behind those there are."""
        for rule in rules:
            self._rules.append(rule)
            self._seen.append(0)
            self._done.append(0)

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self._rules, self._seen, self._done = [], [], []

    def choose(self, call: Call) -> FailureRule | None:
        """The rule that the call meets, if any; the first one wins."""
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
