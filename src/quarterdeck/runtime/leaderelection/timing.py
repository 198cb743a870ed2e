"""How long a lease is held and how often it is renewed: settings, apart from what uses them."""

import msgspec

JITTER = 1.2
"""A candidate waits between 1 and 1 + JITTER times `retry_period_s`, as in client-go."""


class LeaseTiming(msgspec.Struct, frozen=True):
    """The three numbers of an election."""

    lease_duration_s: float = 15.0
    """How long candidates wait after the last change before they take over."""
    renew_deadline_s: float = 10.0
    """How long a leader tries to renew before it gives up."""
    retry_period_s: float = 2.0
    """How often both try."""

    def check(self) -> None:
        """Raise ValueError unless lease > renew > 1.2 · retry > 0."""
        if not self.lease_duration_s > self.renew_deadline_s > JITTER * self.retry_period_s > 0:
            raise ValueError(
                "leader election must have"
                " lease_duration_s > renew_deadline_s > 1.2 * retry_period_s > 0,"
                f" got {self.lease_duration_s}, {self.renew_deadline_s}, {self.retry_period_s}"
            )
