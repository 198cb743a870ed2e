"""What is wrong with a cluster, from what the store has of it."""

from typing import Any

import pytest

from quarterdeck.services.hub.alerts import Alert, find_alerts


def _find(*conditions: dict[str, Any]) -> list[Alert]:
    return find_alerts(
        "east",
        status={"health": "degraded", "last_check": "2026-05-01T10:00:00Z"},
        conditions=conditions,
        nodes=(),
        cluster_operators=(),
        info=None,
        others=(),
    )


def test_condition_tells_since_when_it_is_not_well() -> None:
    since = "2026-05-01T08:00:00Z"
    condition = {"type": "Reachable", "status": "False", "health": "unhealthy"}
    [alert] = _find({**condition, "last_transition_time": since})
    assert (alert.name, alert.severity, alert.since) == ("ClusterReachable", "critical", since)


def test_nodes_that_are_ready_and_full_are_an_alert() -> None:
    full = {
        "type": "NodesReady",
        "status": "True",
        "reason": "CapacityCritical",
        "message": "CPU requests are 95% of what is allocatable, over 90%",
        "health": "degraded",
    }
    [alert] = _find(full, {"type": "DataFresh", "status": "True", "health": "healthy"})
    assert (alert.reason, alert.severity) == ("CapacityCritical", "warning")


def _find_in(**parts: Any) -> list[tuple[str, str, str, str]]:
    given: dict[str, Any] = {"status": None, "info": None}
    for name in ("conditions", "nodes", "cluster_operators", "others"):
        given[name] = ()
    found = find_alerts("east", **{**given, **parts})
    return [(each.name, each.severity, each.object, each.reason) for each in found]


@pytest.mark.parametrize(
    ("health", "severity"),
    [("unhealthy", "critical"), ("degraded", "warning"), ("unknown", "warning")],
)
def test_a_cluster_without_conditions_is_judged_by_its_health(health: str, severity: str) -> None:
    status = {"health": health, "message": "no nodes", "last_check": "2026-05-01T10:00:00Z"}
    expected = [("ClusterHealth", severity, "east", health.capitalize())]
    assert _find_in(status=status) == expected


@pytest.mark.parametrize("status", [{"health": "healthy"}, {}, None, "broken"])
def test_a_healthy_or_unknown_status_is_no_alert(status: object) -> None:
    assert _find_in(status=status) == []


def test_operators_are_critical_when_unavailable_and_not_wrong_while_progressing() -> None:
    def build(type_: str, status: str) -> dict[str, str]:
        return {"type": type_, "status": status, "reason": f"{type_}{status}"}

    conditions = [
        build("Available", "False"),
        build("Degraded", "True"),
        build("Progressing", "True"),
        build("Upgradeable", "False"),
        build("Recent", "False"),
        "broken",
    ]
    found = _find_in(cluster_operators=[{"name": "dns", "conditions": conditions}, {"name": "api"}])
    assert found == [
        ("OperatorAvailable", "critical", "dns", "AvailableFalse"),
        ("OperatorDegraded", "warning", "dns", "DegradedTrue"),
        ("OperatorUpgradeable", "info", "dns", "UpgradeableFalse"),
    ]


def test_the_version_of_a_cluster_fails_by_three_conditions() -> None:
    conditions = [
        {"type": "Available", "status": "Unknown", "reason": "Lost"},
        {"type": "Failing", "status": "True", "reason": "Stuck"},
        {"type": "Failing", "status": "False"},
        {"type": "RetrievedUpdates", "status": "True"},
    ]
    assert _find_in(info={"conditions": conditions}) == [
        ("VersionAvailable", "warning", "version", "Lost"),
        ("VersionFailing", "warning", "version", "Stuck"),
    ]


def test_nodes_that_are_not_ready_are_critical() -> None:
    conditions = [
        {"type": "Ready", "status": "Unknown", "reason": "Gone"},
        {"type": "DiskPressure", "status": "True", "reason": "Full"},
        {"type": "MemoryPressure", "status": "False"},
    ]
    assert _find_in(nodes=[{"name": "n1", "conditions": conditions}]) == [
        ("NodeReady", "critical", "n1", "Gone"),
        ("NodeDiskPressure", "warning", "n1", "Full"),
    ]


@pytest.mark.parametrize("conditions", [5, "abc", {"type": "Failing"}, [5, None]])
def test_facts_that_a_collector_made_up_do_not_hide_the_alerts_of_others(
    conditions: object,
) -> None:
    facts = {"name": "x", "conditions": conditions}
    assert _find_in(info=facts, nodes=[facts], cluster_operators=[facts]) == []
