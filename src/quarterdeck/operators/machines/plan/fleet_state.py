"""The input of a fleet's plan: its machines, and its desired state. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple


class Member(NamedTuple):
    """The facts about one machine that the plan uses."""

    name: str
    revision: str
    age_s: float
    ready_s: float | None = None
    """How long it has been ready; None if it is not."""
    is_deleting: bool = False
    is_failed: bool = False
    """Its claim has failed: it never becomes ready again."""
    was_ready: bool = False
    unhealthy: str = ""
    """Why it is to be replaced although it has not failed; empty if it is healthy."""
    is_marked: bool = False
    """A user marked it to be removed first."""
    is_kept: bool = False
    """Kept for debugging; neither removed nor counted."""
    is_skipped: bool = False
    """Excluded from repair by a user."""
    expires_s: float | None = None
    """Seconds until it exceeds its lifetime; None if that has no limit."""

    @property
    def is_broken(self) -> bool:
        """Whether it has failed or is unhealthy, so that it is no capacity."""
        return self.is_failed or bool(self.unhealthy)

    @property
    def is_expired(self) -> bool:
        """Whether it has exceeded its lifetime."""
        return self.expires_s is not None and self.expires_s <= 0


class DesiredFleet(NamedTuple):
    """The desired state of the fleet, and the limits on changes."""

    desired: int
    revision: str
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] = "RollingUpdate"
    max_surge: int = 1
    max_unavailable: int = 0
    min_ready_s: float = 0.0
    is_paused: bool = False
    delete_policy: Literal["Random", "Newest", "Oldest"] = "Oldest"
    max_unhealthy: int = 0
    max_in_flight: int = 1
    may_repair: bool = True
    budgets: Mapping[str, int] = {}
    """Machines that may be missing at once, by reason; other reasons have no limit."""
    failures: int = 0
    """New machines that failed in a row."""
    last_failure_s: float | None = None
    """Seconds since the last of them failed."""


def is_available(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine is healthy, not being deleted, and ready for at least `min_ready_s`."""
    return (
        not member.is_deleting
        and not member.is_broken
        and member.ready_s is not None
        and compute_unavailable_s(member.ready_s, desired) == 0
    )


def compute_unavailable_s(ready_s: float, desired: DesiredFleet) -> float:
    """Seconds until a ready machine is available.

    0 if no minimum time is set, even if the clock was set back to before the machine was ready.
    """
    return max(0.0, desired.min_ready_s - ready_s) if desired.min_ready_s else 0.0


def is_outdated(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine is to be replaced by a new one."""
    return member.revision != desired.revision or member.is_expired


def is_rolling(live: Iterable[Member], desired: DesiredFleet) -> bool:
    """Whether outdated machines are being replaced a few at a time."""
    return (
        desired.strategy == "RollingUpdate"
        and not desired.is_paused
        and any(is_outdated(each, desired) for each in live)
    )
