"""Validation of the counts in the status of workloads: not negative, at most `replicas`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Context, Object

_TOTAL = "cannot be greater than status.replicas"


class StatusNumbers(NamedTuple):
    """The counts in the status of a kind."""

    members: tuple[str, ...]
    parts: tuple[str, ...] = ()
    """Counts that are at most `replicas`."""
    ready: str = ""
    """The name of `readyReplicas` in the message about `availableReplicas`; empty for no check."""


DEPLOYMENT = StatusNumbers(
    (
        *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas"),
        *("availableReplicas", "unavailableReplicas", "collisionCount"),
    ),
    ("updatedReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
REPLICA_SET = StatusNumbers(
    (
        *("replicas", "fullyLabeledReplicas", "readyReplicas"),
        *("availableReplicas", "observedGeneration"),
    ),
    ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
STATEFUL_SET = StatusNumbers(
    (
        *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas"),
        *("availableReplicas", "observedGeneration", "collisionCount"),
    ),
    ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    "status.readyReplicas",
)
DAEMON_SET = StatusNumbers(
    (
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
        "collisionCount",
    )
)


def build_status_validator(
    numbers: StatusNumbers,
) -> Callable[[Object, Object, Context], Iterator[FieldError]]:
    """Build the validation of a changed status."""

    def validate(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
        status = get_mapping(value, "status")
        for member in numbers.members:
            yield from validators.validate_non_negative(f"status.{member}", status.get(member))
        for member in numbers.parts:
            number = status.get(member) or 0
            if number > (status.get("replicas") or 0):
                yield invalid(f"status.{member}", number, _TOTAL)
        available = status.get("availableReplicas") or 0
        if numbers.ready and available > (status.get("readyReplicas") or 0):
            text = f"cannot be greater than {numbers.ready}"
            yield invalid("status.availableReplicas", available, text)

    return validate
