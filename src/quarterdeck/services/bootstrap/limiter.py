"""Rate limits of attestations: for each address, for each claim that fails, and for all."""

import ipaddress
from collections import OrderedDict, deque

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.refusal import Refused, Why

_KEPT = 10_000
"""Addresses and claims that are remembered; beyond that the one not seen for longest goes."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is allowed."""

    per_address_s: float = 1.0
    address_burst: int = 5
    all_s: float = 50.0
    all_burst: int = 100
    failures: int = 5
    failure_window_s: float = 600.0
    lock_s: float = 900.0


class _Bucket:
    """Tokens that come back over time."""

    __slots__ = ("at", "left")

    def __init__(self, burst: int, at: float) -> None:
        self.left = float(burst)
        self.at = at

    def take(self, rate: float, burst: int, now: float) -> bool:
        self.left = min(burst, self.left + (now - self.at) * rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


def _find_network(address: str) -> str:
    """What one peer can choose its address from: a /64 of IPv6, a single address of IPv4."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4 or found.ipv4_mapped is not None:
        return str(getattr(found, "ipv4_mapped", None) or found)
    return str(ipaddress.ip_network((found, 64), strict=False))


class AttestationLimiter:
    """Counts tries; one for all requests of a service."""

    def __init__(self, *, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._all = _Bucket(self._limits.all_burst, clock.monotonic())
        self._addresses: OrderedDict[str, _Bucket] = OrderedDict()
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._locked: dict[str, float] = {}

    def check_address(self, address: str) -> None:
        """Count a try from an address.

        Raises:
            Refused: if it, or everybody together, comes too often.
        """
        now, limits, address = self._clock.monotonic(), self._limits, _find_network(address)
        bucket = self._addresses.setdefault(address, _Bucket(limits.address_burst, now))
        self._addresses.move_to_end(address)
        if len(self._addresses) > _KEPT:
            self._addresses.popitem(last=False)
        if not bucket.take(limits.per_address_s, limits.address_burst, now):
            raise Refused(Why.LIMITED, f"too many tries from {address}")
        if not self._all.take(limits.all_s, limits.all_burst, now):
            raise Refused(Why.LIMITED, "too many tries of all machines together")

    def check_claim(self, claim: str) -> None:
        """Find out whether a claim is locked after failures.

        Raises:
            Refused: if it is.
        """
        until = self._locked.get(claim)
        if until is None:
            return
        if self._clock.monotonic() < until:
            raise Refused(Why.LIMITED, f"claim {claim} is locked after failed tries")
        del self._locked[claim]

    def count_failure(self, claim: str) -> bool:
        """Count a failed try for a claim; true if it is locked now."""
        now, limits = self._clock.monotonic(), self._limits
        times = self._failures.setdefault(claim, deque())
        self._failures.move_to_end(claim)
        if len(self._failures) > _KEPT:
            self._failures.popitem(last=False)
        times.append(now)
        while times and times[0] <= now - limits.failure_window_s:
            times.popleft()
        if len(times) < limits.failures:
            return False
        times.clear()
        self._locked[claim] = now + limits.lock_s
        return True
