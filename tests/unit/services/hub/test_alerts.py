"""What is wrong with a cluster, from what the store has of it."""

from typing import Any

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
