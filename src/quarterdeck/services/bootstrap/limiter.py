"""Rate limits of attestations: for each address, for failures on a claim, and for all.

Failures are counted by claim and by the network that they come from. Ids of claims and tokens are
not secret, so failures from elsewhere must not lock out the machine of a claim.
"""

import ipaddress
from collections import OrderedDict, deque
from typing import TypeVar

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.ip_address import parse_address
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

_KEPT = 10_000
"""Most peers and claims in memory; beyond that the least recently seen is dropped."""

K = TypeVar("K")
V = TypeVar("V")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The rates and numbers that are allowed."""

    per_address_s: float = 1.0
    address_burst: int = 5
    all_s: float = 50.0
    all_burst: int = 100
    failures: int = 5
    failure_window_s: float = 600.0
    lock_s: float = 900.0
    records: int = 5
    """Refusals that are written into the status of a claim at once; then one every `record_s`."""
    record_s: float = 120.0


class _Bucket:
    """A token bucket."""

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


class _Failures:
    """Failed attempts of one peer for one claim."""

    __slots__ = ("locked_until", "times")

    def __init__(self) -> None:
        self.times: deque[float] = deque()
        self.locked_until = float("-inf")


def find_network(address: str) -> str:
    """The network that counts as one peer: a /64 of IPv6, a single address of IPv4."""
    found = parse_address(address.partition("%")[0])
    if found is None:
        return address
    if found.version == 4 or found.ipv4_mapped is not None:
        return str(getattr(found, "ipv4_mapped", None) or found)
    return str(ipaddress.ip_network((found, 64), strict=False))


class AttestationLimiter:
    """Counts attempts; all requests of a service share one."""

    def __init__(self, *, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._all = _Bucket(self._limits.all_burst, clock.monotonic())
        self._addresses: OrderedDict[str, _Bucket] = OrderedDict()
        self._records: OrderedDict[str, _Bucket] = OrderedDict()
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()

    def check_address(self, address: str) -> None:
        """Count an attempt from an address.

        Raises:
            Refused: if the address exceeds its rate, or all addresses together exceed theirs.
        """
        now, limits, address = self._clock.monotonic(), self._limits, find_network(address)
        bucket = _keep(self._addresses, address, _Bucket(limits.address_burst, now))
        if not bucket.take(limits.per_address_s, limits.address_burst, now):
            raise Refused(RefusalReason.LIMITED, f"too many attempts from {address}")
        if not self._all.take(limits.all_s, limits.all_burst, now):
            raise Refused(RefusalReason.LIMITED, "too many attempts by all machines together")

    def check_failures(self, claim: str, address: str) -> None:
        """Check that a peer has not failed too often for a claim; other peers are not affected.

        Raises:
            Refused: if it has.
        """
        found = self._failures.get((claim, find_network(address)))
        if found is not None and self._clock.monotonic() < found.locked_until:
            raise Refused(
                RefusalReason.LIMITED, f"claim {claim}: too many failed attempts from {address}"
            )

    def count_failure(self, claim: str, address: str) -> bool:
        """Count a failed attempt of a peer for a claim; True if the peer was locked out already."""
        now, limits = self._clock.monotonic(), self._limits
        found = _keep(self._failures, (claim, find_network(address)), _Failures())
        if now < found.locked_until:
            return True
        found.times.append(now)
        while found.times and found.times[0] <= now - limits.failure_window_s:
            found.times.popleft()
        if len(found.times) >= limits.failures:
            found.times.clear()
            found.locked_until = now + limits.lock_s
        return False

    def take_record(self, claim: str) -> bool:
        """Whether a refusal may be written into the status of a claim; counts it.

        Any number of peers may fail for one claim, and each record is a write to the API server.
        """
        now, limits = self._clock.monotonic(), self._limits
        bucket = _keep(self._records, claim, _Bucket(limits.records, now))
        return bucket.take(1 / limits.record_s, limits.records, now)


def _keep(known: OrderedDict[K, V], key: K, new: V) -> V:
    """Get or add the value of a key, as the newest; beyond `_KEPT` the oldest is dropped."""
    found = known.setdefault(key, new)
    known.move_to_end(key)
    if len(known) > _KEPT:
        known.popitem(last=False)
    return found
