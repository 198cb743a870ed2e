"""The decisions of one candidate in a leader election: pure, on times that the caller passes.

The rule that makes clocks harmless: times in the record are never compared with ours. A candidate
only looks whether the record *changed*, and measures by its own clock how long it has not. That
tolerates any offset, and clock rates that differ by up to lease / renew deadline (1.5 by default).
There is no fencing: a process that was paused for longer than the rest of its lease can still
finish the request it had begun, which is why a lost lease ends the process at once.
"""

from datetime import datetime

import msgspec

from quarterdeck.apis.coordination import Lease
from quarterdeck.kit import rfc3339
from quarterdeck.runtime.leaderelection.timing import LeaseTiming


class LeaderElectionRecord(msgspec.Struct, frozen=True):
    """The content of a lease; times are strings, because no code computes with them."""

    holder: str
    duration_s: int
    acquired: str
    renewed: str
    transitions: int


class ElectionState:
    """The decisions of one candidate, pure."""

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        timing.check()
        if not identity:
            raise ValueError("the identity of leader election must not be empty")
        self.identity = identity
        self.timing = timing
        self._seen: LeaderElectionRecord | None = None
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")
        self._is_leading = False

    @property
    def valid_until(self) -> float:
        """When we must stop leading unless the lease is renewed before."""
        return self._renewed_at + self.timing.renew_deadline_s

    def compute_time_limit_s(self, now: float) -> float:
        """How long an attempt may take. A leader's ends well before others may take over."""
        timing = self.timing
        limit_s = max(1.0, timing.renew_deadline_s / 2)
        if not self._is_leading:
            return limit_s
        spare_s = (timing.lease_duration_s - timing.renew_deadline_s) / 2
        return min(limit_s, max(0.0, self.valid_until - now) + spare_s)

    def observe(self, record: LeaderElectionRecord, now: float) -> None:
        """Note a record that was read; only a change restarts the waiting time."""
        if record != self._seen:
            self._seen, self._seen_at = record, now

    def plan(
        self, record: LeaderElectionRecord | None, now: float, wall: datetime
    ) -> LeaderElectionRecord | None:
        """The record to write over the one that was read; None while another candidate leads."""
        stamp = rfc3339.format_micro(wall)
        length = max(1, round(self.timing.lease_duration_s))
        if record is None:
            return LeaderElectionRecord(self.identity, length, stamp, stamp, 0)
        self.observe(record, now)
        if record.holder == self.identity:
            return msgspec.structs.replace(record, duration_s=length, renewed=stamp)
        if record.holder and now < self._seen_at + record.duration_s:
            return None
        return LeaderElectionRecord(self.identity, length, stamp, stamp, record.transitions + 1)

    def record_write(self, record: LeaderElectionRecord, asked_at: float) -> None:
        """Our record was stored, at `asked_at` (when the request began) or later."""
        self._seen, self._seen_at = record, asked_at
        self._renewed_at = asked_at
        self._is_leading = True

    def is_leading(self, now: float) -> bool:
        """Whether we may act as leader now."""
        return self._is_leading and now < self.valid_until

    def resign(self) -> None:
        """Stop leading."""
        self._is_leading = False

    def build_release(
        self, record: LeaderElectionRecord, wall: datetime
    ) -> LeaderElectionRecord | None:
        """The record that frees the lease at once; None if another candidate holds it."""
        if record.holder != self.identity:
            return None
        stamp = rfc3339.format_micro(wall)
        return msgspec.structs.replace(
            record, holder="", duration_s=1, acquired=stamp, renewed=stamp
        )


def parse_record(lease: Lease) -> LeaderElectionRecord:
    """Parse a lease; missing fields are zero values, as in Go."""
    spec = lease.spec
    return LeaderElectionRecord(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time or "",
        spec.renew_time or "",
        spec.lease_transitions or 0,
    )
