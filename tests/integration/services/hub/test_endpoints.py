"""The endpoints: the JSON that readers know, and what each viewer sees of it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest
from tests.integration.services.hub.conftest import NOW, TTLS, World

from quarterdeck.hubstate import cluster_writes
from quarterdeck.hubstate.writes import SetFields
from quarterdeck.inventory.health import Finding, Health, Verdict
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.services.hub.audit import audit_key

Make = Callable[[], AbstractAsyncContextManager[World]]

FULL = {"view": True, "viewMetrics": True}


def rule(*names: str, **more: Any) -> dict[str, Any]:
    return {"selector": {"matchNames": list(names)}, "permissions": FULL, **more}


def listed(type_: str, **filters: Any) -> dict[str, Any]:
    return {"type": type_, "visibility": "filtered", "filters": filters}


async def test_a_master_sees_every_cluster_as_it_is_stored(world: Make) -> None:
    async with world() as w:
        found = await w.get("/clusters", "root")
        assert [each["name"] for each in found] == ["dev-1", "prod-east", "prod-west"]
        east = found[1]
        assert set(east) == {
            *("name", "accessible", "spec", "info", "metrics", "status", "operator_count")
        }
        assert east["spec"]["endpoint"] == "https://prod-east.example.com:6443"
        assert east["metrics"]["nodes"] == 3
        assert east["metrics"]["pods"] == 30
        assert east["status"]["health"] == "healthy"
        assert east["operator_count"] == 2


async def test_nobody_sees_anything_without_a_policy(world: Make) -> None:
    async with world() as w:
        assert await w.get("/clusters", "alice") == []
        assert await w.refuse("/clusters/prod-east", "alice") == (
            "Access denied to cluster 'prod-east'"
        )
        assert await w.refuse("/clusters/no-such", "alice") == (
            "Access denied to cluster 'no-such'"
        )
        assert await w.get("/custom-types", "alice") == []
        assert await w.get("/registries/status", "alice") == []


async def test_a_cluster_that_is_hidden_by_its_labels_looks_like_none(world: Make) -> None:
    async with world() as w:
        dev = {"selector": {"matchLabels": {"env": "dev"}}}
        await w.policy("p", rules=[rule("*")])
        assert "not found" in await w.refuse("/clusters/dev-2", "alice", 404)
        await w.policy("q", effect="Deny", priority=200, rules=[dev])
        for path in ("", "/nodes", "/metrics/history?metric=nodes_total"):
            hidden = await w.refuse(f"/clusters/dev-1{path}", "alice")
            missing = await w.refuse(f"/clusters/dev-2{path}", "alice")
            assert missing == hidden.replace("dev-1", "dev-2")
        assert "not found" in await w.refuse("/clusters/dev-2", "root", 404)


async def test_policies_by_label_show_some_clusters(world: Make) -> None:
    async with world() as w:
        await w.policy("p", rules=[{"selector": {"matchLabels": {"env": "prod"}}}])
        found = await w.get("/clusters", "alice")
        assert [each["name"] for each in found] == ["prod-east", "prod-west"]
        assert [each["metrics"] for each in found] == [None, None]  # view only
        permissions = await w.get("/auth/permissions", "alice")
        assert permissions["summary"] == {"total_clusters": 2, "accessible_clusters": 2}
        assert permissions["clusters"]["prod-east"] == {
            "permissions": ["view"],
            "access_level": "limited",
        }


async def test_totals_count_only_what_a_viewer_may_see(world: Make) -> None:
    async with world() as w:
        await w.policy(
            "p",
            rules=[
                rule(
                    "*",
                    resources=[
                        listed("nodes", labels={"pool": "blue"}),
                        listed("namespaces", names={"allowed": ["app-*"]}),
                        listed("operators", namespaces={"allowed": ["app-*"]}),
                    ],
                )
            ],
        )
        for path in ("/clusters", "/clusters"):  # the second answer is remembered
            east = (await w.get(path, "alice"))[1]
            assert (
                east["metrics"]
                | {
                    "nodes": 2,
                    "nodes_ready": 1,
                    "cpu_capacity": 8.0,
                    "memory_capacity": 2048,
                    "namespaces": 2,
                    "deployments": 0,
                    "pods": 3,
                    "pods_running": 3,
                }
                == east["metrics"]
            )
            assert east["operator_count"] == 1
        detail = await w.get("/clusters/prod-east", "alice")
        assert detail["metrics"] == east["metrics"]
        assert detail["info"]["api_url"] == "https://prod-east.example.com:6443"
        assert detail["resource_collection"]["truncated"] is False
        assert await w.get("/clusters/prod-east/namespaces", "alice") == ["app-a", "app-internal"]
        (operator,) = await w.get("/clusters/prod-east/operators", "alice")
        assert operator["name"] == "everywhere"


async def test_remembered_totals_follow_the_store_and_the_policy(world: Make) -> None:
    async with world() as w:
        blue = rule("*", resources=[listed("nodes", labels={"pool": "blue"})])
        await w.policy("p", rules=[blue])
        assert (await w.get("/clusters/dev-1", "alice"))["metrics"]["nodes"] == 2
        red = rule("*", resources=[listed("nodes", labels={"pool": "red"})])
        await w.policy("p", rules=[red])
        assert (await w.get("/clusters/dev-1", "alice"))["metrics"]["nodes"] == 1


async def test_nodes_are_filtered_one_by_one(world: Make) -> None:
    async with world() as w:
        hidden = listed("nodes", names={"denied": ["*-0"]})
        await w.policy("p", rules=[rule("prod-east", resources=[hidden])])
        nodes = await w.get("/clusters/prod-east/nodes", "alice")
        assert [each["name"] for each in nodes] == ["prod-east-1", "prod-east-2"]
        chosen = await w.get("/clusters/prod-east/nodes?status=NotReady&role=worker", "alice")
        assert [each["name"] for each in chosen] == ["prod-east-2"]
        assert "node" in await w.refuse("/clusters/prod-east/nodes/prod-east-0", "alice")
        await w.refuse("/clusters/prod-east/nodes/prod-east-9", "alice", 404)
        one = await w.get("/clusters/prod-east/nodes/prod-east-1?include_metrics=true", "alice")
        assert len(one["metrics_history"]) == 1
        assert one["current_conditions"]["Ready"]["status"] == "True"


@pytest.mark.parametrize(
    "hidden",
    [
        listed("namespaces", names={"allowed": ["app-*"]}),
        listed("pods", namespaces={"denied": ["secret"]}),
    ],
    ids=["namespaces", "pods"],
)
async def test_nodes_count_only_pods_that_a_viewer_may_see(
    world: Make, hidden: dict[str, Any]
) -> None:
    async with world() as w:
        await w.policy("p", rules=[rule("prod-east", resources=[hidden])])
        path = "/clusters/prod-east/nodes"
        rows = await w.get(path, "alice")
        assert [each["pods_total"] for each in rows] == [0, 3, 0]
        assert [each["pods_running"] for each in rows] == [0, 3, 0]
        assert [each["pods_succeeded"] for each in rows] == [0, 0, 0]
        one = await w.get(f"{path}/prod-east-1?include_metrics=true", "alice")
        assert one["pods_total"] == 3
        (point,) = one["metrics_history"]
        assert "cpu_requested" in point
        assert not [name for name in point if name.startswith("pods_")]
        own = f"{path}/prod-east-1/metrics/history?metric="
        assert "pods" in await w.refuse(f"{own}pods_total", "alice")
        await w.get(f"{own}pods_capacity", "alice")
        assert (await w.get(path, "root"))[1]["pods_total"] == 10


async def test_points_of_nodes_need_view_metrics(world: Make) -> None:
    async with world() as w:
        await w.policy("p", rules=[{"selector": {"matchNames": ["*"]}}])
        path = "/clusters/prod-east/nodes/prod-east-1"
        assert "metrics_history" not in await w.get(path, "alice")
        await w.refuse(f"{path}?include_metrics=true", "alice")


async def test_namespaces_are_counted_when_asked_for(world: Make) -> None:
    async with world() as w:
        query = "with_operator_count=true&with_resource_counts=true"
        found = await w.get(f"/clusters/dev-1/namespaces?{query}", "root")
        by_name = {each["name"]: each for each in found}
        assert by_name["secret"]["operator_count"] == 2
        assert by_name["app-a"]["operator_count"] == 1
        assert by_name["app-a"]["resource_counts"]["pods"] == 3
        assert by_name["app-a"]["total_resources"] == 3


async def test_rows_and_aggregations_are_those_of_the_viewer(world: Make) -> None:
    async with world() as w:
        spaces = listed("pvc", namespaces={"allowed": ["app-*"]})
        spaces["aggregations"] = {"exclude": ["largest"]}
        await w.policy("p", rules=[rule("prod-*", resources=[spaces])])
        mine = await w.get("/clusters/prod-east/custom/pvc?sort_by=size&sort_order=desc", "alice")
        assert [each["_name"] for each in mine["items"]] == ["two", "one"]
        assert mine["aggregations"] == {"total": 30, "objects": 2}
        assert mine["filtered"] is True
        assert mine["filterNote"]
        every = await w.get("/clusters/prod-east/custom/pvc?page_size=2", "root")
        assert every["aggregations"] == {"total": 100, "objects": 3, "largest": 70}
        assert every["filtered"] is False
        assert every["pagination"] == {
            "total": 3,
            "page": 1,
            "pageSize": 2,
            "totalPages": 2,
            "hasNext": True,
            "hasPrevious": False,
        }
        (count,) = await w.get("/custom-types/clusters?type=pvc&include_aggregations=true", "alice")
        assert (count["cluster"], count["count"]) == ("prod-east", 2)
        assert count["aggregations"] == {"total": 30, "objects": 2}
        (type_,) = await w.get("/custom-types?include_cluster_availability=true", "alice")
        assert type_["clustersWithData"] == ["prod-east"]
        await w.refuse("/clusters/dev-1/custom/pvc", "alice")
        await w.refuse("/clusters/prod-east/custom/other", "alice")
        await w.refuse("/clusters/prod-east/custom/other", "root", 404)
        await w.refuse("/custom-types/clusters", "alice", 400)


async def test_aggregations_are_hidden_without_view_metrics(world: Make) -> None:
    async with world() as w:
        plain = {"selector": {"matchNames": ["*"]}, "resources": [{"type": "pvc"}]}
        await w.policy("p", rules=[plain])
        found = await w.get("/clusters/prod-east/custom/pvc", "alice")
        assert len(found["items"]) == 3
        assert "aggregations" not in found


async def test_alerts_come_from_conditions(world: Make) -> None:
    async with world() as w:
        (alert,) = await w.get("/clusters/dev-1/alerts", "root")
        assert (alert["name"], alert["object"], alert["severity"]) == (
            "NodeReady",
            "dev-1-2",
            "critical",
        )
        assert await w.get("/clusters/dev-1/alerts?severity=warning", "root") == []
        hidden = listed("nodes", names={"denied": ["dev-1-2"]})
        await w.policy("p", rules=[rule("*", resources=[hidden])])
        assert await w.get("/clusters/dev-1/alerts", "alice") == []


async def test_alerts_of_the_fleet_are_those_of_clusters_that_may_be_seen(world: Make) -> None:
    async with world() as w:
        of_all = await w.get("/alerts", "root")
        by_cluster = [
            alert
            for each in await w.get("/clusters", "root")
            for alert in await w.get(f"/clusters/{each['name']}/alerts", "root")
        ]
        assert sorted(map(str, of_all)) == sorted(map(str, by_cluster))
        assert {each["cluster"] for each in of_all} >= {"dev-1"}
        assert await w.get("/alerts?cluster=prod-east&severity=info", "root") == []
        await w.policy("p", rules=[rule("prod-*")])
        assert "dev-1" not in {each["cluster"] for each in await w.get("/alerts", "alice")}
        await w.policy("p", rules=[rule("*")])
        assert "dev-1" in {each["cluster"] for each in await w.get("/alerts", "alice")}


async def test_alerts_of_other_programs_are_found_by_one_look_at_the_keys(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as w:
        fields = {"name": "Backup", "severity": "info"}
        for key in ("alerts:dev-1:backup", "alerts:prod-east:backup", "alerts:gone:backup"):
            await w.state.commit([SetFields(key, fields)])
        asked: list[str] = []
        list_keys = w.state.list_keys

        async def record(prefix: str) -> list[str]:
            asked.append(prefix)
            return await list_keys(prefix)

        monkeypatch.setattr(w.state, "list_keys", record)
        found = await w.get("/alerts?severity=info", "root")
        assert [(each["name"], each["cluster"]) for each in found] == [
            ("Backup", "dev-1"),
            ("Backup", "prod-east"),
        ]
        assert asked == ["alerts:"]
        (one,) = await w.get("/clusters/dev-1/alerts?severity=info", "root")
        assert one["cluster"] == "dev-1"


async def test_events_are_those_of_the_cluster(world: Make) -> None:
    async with world() as w:
        (event,) = await w.get("/clusters/dev-1/events", "root")
        assert event["type"] == "cluster.reconciled"
        silent = {"type": "events", "visibility": "none"}
        await w.policy("p", rules=[rule("*", resources=[silent])])
        assert await w.get("/clusters/dev-1/events", "alice") == []


async def test_lists_have_pages_with_links(world: Make) -> None:
    async with world() as w:
        reply = await w.ask("api:/clusters?page_size=2", "root")
        assert [each["name"] for each in reply.body] == ["dev-1", "prod-east"]
        assert reply.headers["x-total-count"] == "3"
        assert reply.headers["link"] == '</api/v1/clusters?page=2&page_size=2>; rel="next"'
        last = await w.ask("api:/clusters?page_size=2&page=2", "root")
        assert [each["name"] for each in last.body] == ["prod-west"]
        assert 'rel="prev"' in last.headers["link"]
        assert await w.get("/clusters?page_size=2&page=9", "root") == []


@pytest.mark.parametrize("query", ["page=0", "page_size=1001", "page=x", "page=1&page=2", "page="])
async def test_invalid_page_parameters_are_refused(world: Make, query: str) -> None:
    async with world() as w:
        assert "page" in await w.refuse(f"/clusters?{query}", "root", 400)


async def test_an_unchanged_answer_is_not_sent_again(world: Make) -> None:
    async with world() as w:
        first = await w.ask("api:/clusters", "root")
        tag = first.headers["etag"]
        again = await w.ask("api:/clusters", "root", headers={"If-None-Match": f'"x", W/{tag}'})
        assert (again.status, again.body, again.headers["etag"]) == (304, None, tag)
        other = await w.ask("api:/clusters", "alice", headers={"If-None-Match": tag})
        assert other.status == 200


async def test_explanations_name_the_policy(world: Make) -> None:
    async with world() as w:
        await w.policy("deny", effect="Deny", priority=200, rules=[rule("dev-*")])
        await w.policy("allow", rules=[rule("*", resources=[{"type": "pvc"}])])
        found = await w.get("/auth/explain?cluster=dev-1&type=pvc", "alice")
        assert found["decision"] == "deny"
        assert "hub/deny" in found["reason"]
        assert [step["policy"] for step in found["steps"] if step["decides"]] == ["hub/deny"]
        allowed = await w.get("/auth/explain?cluster=prod-east&type=pvc&user=alice", "root")
        assert allowed["decision"] == "allow"
        assert "masters" in await w.refuse("/auth/explain?cluster=dev-1&user=bob", "alice")
        policies = await w.get("/auth/policies", "alice")
        assert policies["evaluation_order"] == ["hub/deny", "hub/allow"]


async def test_masters_read_the_audit_log_and_nobody_else_does(world: Make) -> None:
    async with world() as w:
        await w.refuse("/clusters/prod-east", "bob")
        await w.refuse("/auth/audit", "alice")
        found = await w.get("/auth/audit", "root")
        assert [(each["user"], each["status"]) for each in found] == [("alice", 403), ("bob", 403)]
        assert [each["user"] for each in await w.get("/auth/audit?user=bob", "root")] == ["bob"]
        assert await w.get("/auth/audit?day=2026-04-30", "root") == []
        assert await w.get("/auth/audit?day=2026-02-31", "root") == []
        assert "day" in await w.refuse("/auth/audit?day=2026-13-01", "root", status=400)


async def test_links_to_other_pages_keep_the_other_parameters(world: Make) -> None:
    async with world() as w:
        path = "api:/clusters/prod-east/nodes?role=worker&page_size=1"
        reply = await w.ask(path, "root")
        link = reply.headers["link"]
        assert 'nodes?role=worker&page=2&page_size=1>; rel="next"' in link
        following = await w.ask(link[1:].partition(">")[0], "root")
        assert following.headers["x-total-count"] == reply.headers["x-total-count"] == "2"
        assert following.body != reply.body


async def test_refusals_and_questions_are_audited(world: Make) -> None:
    async with world() as w:
        await w.refuse("/clusters/dev-1", "alice")
        await w.get("/auth/explain?cluster=dev-1", "alice")
        await w.get("/auth/explain?cluster=dev-1&type=pvc&user=bob&group=ops", "root")
        await w.get("/clusters", "alice")
        await w.hub.audit.flush()
        records = [
            msgspec.json.decode(each) for each in await w.state.get_items(audit_key(NOW), limit=10)
        ]
        assert [(each["user"], each["status"], each["reason"]) for each in records] == [
            ("root", 200, "asked what bob in ops may see of pvc on dev-1"),
            ("alice", 200, "asked what alice may see of dev-1"),
            ("alice", 403, "Access denied to cluster 'dev-1'"),
        ]


async def test_health_needs_no_login(world: Make) -> None:
    async with world() as w:
        assert (await w.ask("/healthz")).body == {"status": "ok"}
        assert (await w.ask("/readyz")).body == {"status": "ready"}
        assert await w.get("/auth/status") == {
            "authenticated": False,
            "message": "Not authenticated",
        }
        assert await w.refuse("/auth/me", status=401) == "authentication required"
        wrong = await w.ask("api:/clusters", "root", method="DELETE")
        assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD")
        assert (await w.ask("api:/auth/logout", "alice", method="POST")).status == 200
        cleared = await w.ask("api:/auth/cache/clear", "alice", method="POST")
        assert cleared.body["user"] == "alice"


CONDITION_TYPES = ("Reachable", "NodesReady", "OperatorsHealthy", "DataFresh")


async def test_alerts_of_a_cluster_come_from_its_conditions(world: Make) -> None:
    async with world() as w:
        finding = Finding(FALSE, "NodesNotReady", "not ready: dev-1-2", Health.DEGRADED)
        good = Finding(TRUE, "Fine", "", Health.HEALTHY)
        since = dict.fromkeys(CONDITION_TYPES, "2026-04-30T10:00:00Z")
        verdict = Verdict(
            health=Health.DEGRADED,
            message="not ready: dev-1-2",
            reachable=good,
            nodes_ready=finding,
            operators_healthy=good,
            data_fresh=good,
        )
        writes = [
            *cluster_writes.plan_conditions("dev-1", verdict, TTLS, since),
            *cluster_writes.plan_status(
                "dev-1", health="degraded", message=verdict.message, at=w.clock.now()
            ),
        ]
        await w.state.commit(writes)
        found = await w.get("/clusters/dev-1/alerts", "root")
        assert [(each["name"], each["severity"]) for each in found] == [
            ("NodeReady", "critical"),
            ("ClusterNodesReady", "warning"),
        ]
        assert found[1]["since"] == "2026-04-30T10:00:00Z"
        hidden = listed("nodes", names={"denied": ["dev-1-2"]})
        await w.policy("p", rules=[rule("*", resources=[hidden])])
        for path in ("/clusters/dev-1/alerts", "/clusters/dev-1", "/clusters"):
            text = str(await w.get(path, "alice"))
            assert "dev-1-2" not in text
        status = (await w.get("/clusters/dev-1", "alice"))["status"]
        assert status["health"] == "degraded"
        assert "hidden" in status["message"]


async def test_conditions_of_the_version_name_no_hidden_operators(world: Make) -> None:
    async with world() as w:
        failing = {
            "type": "Failing",
            "status": "True",
            "reason": "ClusterOperatorDegraded",
            "message": "Cluster operator authentication is degraded",
            "last_transition_time": "2026-04-30T10:00:00Z",
        }
        info = {"version": "4.14.3", "conditions": [failing]}
        await w.state.commit(list(cluster_writes.plan_info("dev-1", info, TTLS)))
        paths = ("/clusters", "/clusters/dev-1", "/clusters/dev-1/alerts", "/alerts")
        await w.policy("p", rules=[rule("*")])
        for path in paths:
            assert "operator authentication" in str(await w.get(path, "alice")), path
        hidden = listed("operators", names={"denied": ["authentication"]})
        await w.policy("p", rules=[rule("*", resources=[hidden])])
        for path in paths:
            assert "operator authentication" not in str(await w.get(path, "alice")), path
        shown = (await w.get("/clusters/dev-1", "alice"))["info"]
        assert shown["version"] == "4.14.3"
        assert shown["conditions"][0]["status"] == "True"
        (alert,) = await w.get("/clusters/dev-1/alerts?severity=warning", "alice")
        assert (alert["name"], "hidden" in alert["message"]) == ("VersionFailing", True)


async def test_answers_of_the_api_may_not_be_shown_as_pages(world: Make) -> None:
    async with world() as w:
        missing = await w.ask("api:/nothing", "root")
        assert (missing.status, missing.headers["content-type"]) == (404, "application/json")
        assert "'none'" in missing.headers["content-security-policy"]
        assert missing.headers["x-frame-options"] == "DENY"
