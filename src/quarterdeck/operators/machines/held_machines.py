"""Machines that wait for something else to change; their fleet or pool reports why. Pure."""

from collections.abc import Sequence

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.meta.conditions import FALSE, Condition, find
from quarterdeck.operators.machines.conditions import READY, Reason

_HELD = frozenset(
    {
        Reason.CLUSTER_NOT_READY,
        Reason.TEMPLATE_NOT_FOUND,
        Reason.TEMPLATE_INVALID,
        Reason.INSUFFICIENT_CAPACITY,
        Reason.NO_FREE_ADDRESS,
        Reason.CALL_FAILED,
        Reason.CIRCUIT_OPEN,
        Reason.BOOTSTRAP_SERVICE_MISSING,
        Reason.ATTESTATION_FAILED,
    }
)
"""Reasons of machines that cannot continue until something else changes."""


def find_held(claims: Sequence[MachineClaim]) -> list[tuple[str, Condition]]:
    """Find machines that wait for something else to change, by name, and why."""
    found = []
    for claim in claims:
        condition = find(claim.status.conditions, READY)
        if condition is not None and condition.status == FALSE and condition.reason in _HELD:
            found.append((claim.metadata.name, condition))
    return sorted(found, key=lambda each: each[0])
