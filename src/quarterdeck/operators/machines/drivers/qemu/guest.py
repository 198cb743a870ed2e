"""What is known of a guest from outside, without an agent in it. Pure."""

from typing import Any

USER_ADDRESS = "10.0.2.15"
"""What QEMU's user network gives to its only guest."""


def is_network_up(filters: Any) -> bool:
    """Whether a guest has brought an interface up, by QEMU's answer about its receive filters.

    An interface that comes up joins the group of all hosts; firmware and boot loaders do not.
    """
    return any(each.get("multicast-table") for each in filters or ())
