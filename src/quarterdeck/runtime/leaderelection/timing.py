"""How long a lease is held and how often it is renewed: settings, apart from what uses them."""

import msgspec

JITTER = 1.2
"""A candidate waits between 1 and 1 + JITTER times `retry_s`, as in client-go."""


class LeaseTiming(msgspec.Struct, frozen=True):
    """The three numbers of an election."""

    lease_s: float = 15.0
    """How long candidates wait after the last change before they take over."""
    renew_s: float = 10.0
    """How long a leader tries to renew before it gives up."""
    retry_s: float = 2.0
    """How often both try."""

    def check(self) -> None:
        """Raise ValueError unless lease > renew > 1.2 · retry > 0."""
        if not self.lease_s > self.renew_s > JITTER * self.retry_s > 0:
            raise ValueError(
                "leader election must have lease_s > renew_s > 1.2 * retry_s > 0, "
                f"got {self.lease_s}, {self.renew_s}, {self.retry_s}"
            )
