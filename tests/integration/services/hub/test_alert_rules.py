"""Alert rules at /alerts: judged on what each viewer may see."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.integration.services.hub.conftest import World

from quarterdeck.hubstate import alert_states
from quarterdeck.hubstate.alert_states import AlertKey

Make = Callable[[], AbstractAsyncContextManager[World]]
GROUPED = {"name": "by_space", "field": "size", "function": "sum", "groupBy": "namespace"}
TOTAL = {"name": "total", "field": "size", "function": "sum"}


async def set_rules(w: World, *rules: dict[str, Any]) -> None:
    await w.source("prod-east", aggregations=[TOTAL, GROUPED], alerts=list(rules))


async def allow(w: World, **resource: Any) -> None:
    rule = {
        "selector": {"matchNames": ["prod-*"]},
        "permissions": {"view": True, "viewMetrics": True},
        "resources": [{"type": "pvc", **resource}],
    }
    await w.policy("p", rules=[rule])


async def alerts(w: World, who: str) -> dict[str, dict[str, Any]]:
    found = await w.get("/clusters/prod-east/alerts", who)
    return {f"{each['name']}/{each['object']}": each for each in found if each["source"] == "rule"}


async def test_a_rule_that_holds_is_an_alert(world: Make) -> None:
    async with world() as w:
        await set_rules(
            w,
            {"name": "Full", "expression": "total > 90", "severity": "critical", "message": "full"},
            {"name": "Empty", "expression": "total < 90"},
        )
        found = await alerts(w, "root")
        assert list(found) == ["Full/"]
        assert found["Full/"] == {
            "name": "Full",
            "severity": "critical",
            "cluster": "prod-east",
            "source": "rule",
            "object": "",
            "condition": "total > 90",
            "reason": "pvc",
            "message": "full (total = 100)",
            "since": "2026-05-01T00:00:00Z",
            "namespaces": [],
        }
        worst = await w.get("/clusters/prod-east/alerts?severity=critical", "root")
        assert "Full" in [each["name"] for each in worst]
        elsewhere = await w.get("/clusters/prod-west/alerts", "root")
        assert "rule" not in {each["source"] for each in elsewhere}


async def test_each_viewer_is_told_of_the_rows_they_may_see(world: Make) -> None:
    async with world() as w:
        await set_rules(
            w,
            {"name": "Full", "expression": "total > 90"},
            {"name": "Busy", "expression": "by_space >= 30"},
        )
        assert set(await alerts(w, "root")) == {"Full/", "Busy/app-a", "Busy/secret"}
        await allow(w, filters={"namespaces": {"allowed": ["app-*"]}}, visibility="filtered")
        assert set(await alerts(w, "alice")) == {"Busy/app-a"}
        assert "secret" not in str(await w.get("/clusters/prod-east/alerts", "alice"))


async def test_who_may_not_see_a_type_or_its_aggregations_sees_no_alert_of_it(
    world: Make,
) -> None:
    async with world() as w:
        await set_rules(w, {"name": "Full", "expression": "total > 90"})
        await w.policy("p", rules=[{"selector": {"matchNames": ["prod-*"]}}])
        assert await alerts(w, "alice") == {}
        await allow(w, aggregations={"exclude": ["total"]})
        assert await alerts(w, "alice") == {}
        await allow(w)
        assert set(await alerts(w, "alice")) == {"Full/"}


async def test_a_rule_with_a_duration_waits_for_it(world: Make) -> None:
    async with world() as w:
        await set_rules(w, {"name": "Full", "expression": "total > 90", "forSeconds": 300})
        assert await alerts(w, "root") == {}
        states = alert_states.advance({}, [AlertKey("hub/pvc", "Full", "")], w.clock.now())
        await w.state.commit([alert_states.plan_states("prod-east", states, 3600)])
        await w.clock.advance(299)
        assert await alerts(w, "root") == {}
        await w.clock.advance(1)
        assert (await alerts(w, "root"))["Full/"]["since"] == "2026-05-01T00:00:00Z"


async def test_alerts_of_groups_by_namespace_are_filtered_like_other_alerts(world: Make) -> None:
    async with world() as w:
        await set_rules(w, {"name": "Busy", "expression": "by_space >= 30"})
        rule = {
            "selector": {"matchNames": ["prod-*"]},
            "permissions": {"view": True, "viewMetrics": True},
            "resources": [
                {"type": "pvc"},
                {
                    "type": "alerts",
                    "visibility": "filtered",
                    "filters": {"namespaces": {"denied": ["secret"]}},
                },
            ],
        }
        await w.policy("p", rules=[rule])
        assert set(await alerts(w, "alice")) == {"Busy/app-a"}
