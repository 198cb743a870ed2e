"""Which machines of a fleet are replaced because they are not well, and when to look again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quarterdeck.apis.hypervisor.claim import (
    MachineClaim,
    MachineClaimSpec,
    MachineClaimStatus,
)
from quarterdeck.apis.hypervisor.fleet import FleetHealthCheck, UnhealthyCondition
from quarterdeck.apis.hypervisor.names import REMEDIATE
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.conditions import Condition
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.plan.health import compute_next_change_s, find_unhealthy_reason

SPEC = MachineClaimSpec(template_ref=ObjectReference(name="small"))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHECK = FleetHealthCheck(
    startup_timeout="10m",
    heartbeat_timeout="5m",
    unhealthy_conditions=(UnhealthyCondition(type="DiskFull", status="True", timeout="2m"),),
)


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def claim(phase: Any = "Ready", *, age_s: float = 3600, **conditions: Any) -> MachineClaim:
    """`Type=(status, reason, seconds)` for each condition."""
    return MachineClaim(
        metadata=ObjectMeta(name="m", namespace="x", creation_timestamp=ago(age_s)),
        spec=SPEC,
        status=MachineClaimStatus(
            phase=phase,
            conditions=tuple(
                Condition(
                    type=name, status=status, reason=reason, last_transition_time=ago(seconds)
                )
                for name, (status, reason, seconds) in conditions.items()
            ),
        ),
    )


@pytest.mark.parametrize(
    ("machine", "illness"),
    [
        (claim(), ""),
        (claim("Pending", age_s=9999), ""),
        (claim("Bootstrapping", age_s=599), ""),
        (claim("Bootstrapping", age_s=600), "it is not ready after 600 s"),
        (claim(Healthy=("False", "HeartbeatLost", 299)), ""),
        (
            claim(Healthy=("False", "HeartbeatLost", 300)),
            "its node or its agent does not answer for 300 s",
        ),
        (claim(Healthy=("False", "SomethingElse", 9999)), ""),
        (claim(Healthy=("True", "HeartbeatLost", 9999)), ""),
        (claim(DiskFull=("True", "Full", 119)), ""),
        (claim(DiskFull=("True", "Full", 120)), "condition DiskFull is True for 120 s"),
        (claim(DiskFull=("False", "Fine", 9999)), ""),
    ],
)
def test_a_machine_is_unhealthy_when_a_condition_lasts_too_long(
    machine: MachineClaim, illness: str
) -> None:
    assert find_unhealthy_reason(machine, CHECK, NOW) == illness


def test_a_machine_is_replaced_when_somebody_asks() -> None:
    asked = MachineClaim(metadata=ObjectMeta(name="m", annotations={REMEDIATE: "true"}), spec=SPEC)
    assert find_unhealthy_reason(asked, CHECK, NOW) == "a repair was requested"


@pytest.mark.parametrize(
    ("machine", "seconds"),
    [
        (claim(), None),
        (claim("Bootstrapping", age_s=400), 200),
        (claim("Bootstrapping", age_s=600), None),
        (claim(Healthy=("False", "NodeOffline", 100)), 200),
        (claim(DiskFull=("True", "Full", 100)), 20),
        (claim(DiskFull=("False", "Fine", 100)), None),
        (claim(Healthy=("False", "NodeOffline", 290), DiskFull=("True", "Full", 100)), 10),
    ],
)
def test_the_next_check_is_when_time_alone_makes_a_machine_unhealthy(
    machine: MachineClaim, seconds: float | None
) -> None:
    assert compute_next_change_s(machine, CHECK, NOW) == seconds
