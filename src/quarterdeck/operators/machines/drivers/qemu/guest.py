"""What QEMU reveals about a guest that has no agent. Pure."""

from typing import Any

USER_ADDRESS = "10.0.2.15"
"""The address that QEMU's user network assigns to its only guest."""


def is_network_up(filters: Any) -> bool:
    """Whether a guest has brought an interface up, by QEMU's answer about its receive filters.

    An interface that comes up joins the group of all hosts; firmware and boot loaders do not.
    """
    return any(each.get("multicast-table") for each in filters or ())
