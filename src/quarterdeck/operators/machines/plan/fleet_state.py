"""A fleet as the plan sees it: the machines there are, and what the fleet should be. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple


class Member(NamedTuple):
    """One machine as its fleet sees it."""

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
    """Why it is to be replaced although it has not failed; empty if it is well."""
    is_marked: bool = False
    """Somebody wants it to go first."""
    is_kept: bool = False
    """Kept for debugging; neither removed nor counted."""
    is_skipped: bool = False
    """Never repaired."""
    expires_s: float | None = None
    """Seconds until it is too old; None if it never is."""

    @property
    def is_broken(self) -> bool:
        """Whether it does not count as capacity."""
        return self.is_failed or bool(self.unhealthy)

    @property
    def is_expired(self) -> bool:
        """Whether it is too old."""
        return self.expires_s is not None and self.expires_s <= 0


class DesiredFleet(NamedTuple):
    """What the fleet should be."""

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
    """Machines that may be missing at once, by reason; a reason that is not there has no limit."""
    failures: int = 0
    """New machines that failed in a row."""
    last_failure_s: float | None = None
    """How long ago the last one did."""


def is_available(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine counts for the promise to users."""
    return (
        not member.is_deleting
        and not member.is_broken
        and member.ready_s is not None
        and member.ready_s >= desired.min_ready_s
    )


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
