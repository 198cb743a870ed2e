"""Access policies: their state, what they concern, and when that changes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import MonitorAccessPolicy
from quarterdeck.kit import rfc3339

Make = Callable[[], AbstractAsyncContextManager[Any]]


async def _policy(w: Any, state: str) -> MonitorAccessPolicy:
    async def holds() -> MonitorAccessPolicy | None:
        found: MonitorAccessPolicy = await w.client.get(MonitorAccessPolicy, "p", "default")
        return found if found.status.state == state else None

    result: MonitorAccessPolicy = await w.until(holds)
    return result


def _spec(**more: Any) -> dict[str, Any]:
    return {
        "identity": {"subjects": {"users": ["ann", "bob"], "groups": ["dev"]}},
        "access": {"effect": "Allow", **more.pop("access", {})},
        **more,
    }


BACKWARDS = {"notBefore": "2030-01-01T00:00:00Z", "notAfter": "2020-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("spec", "state", "text"),
    [
        (_spec(), "Active", "Policy is active"),
        (_spec(access={"enabled": False}), "Inactive", "Policy is disabled"),
        (
            _spec(lifecycle={"validity": {"notBefore": "2030-01-01T00:00:00Z"}}),
            "Inactive",
            "Policy not yet valid",
        ),
        (
            _spec(lifecycle={"validity": {"notAfter": "2020-01-01T00:00:00Z"}}),
            "Expired",
            "Policy expired",
        ),
        (_spec(lifecycle={"validity": {"notBefore": "soon"}}), "Error", "notBefore"),
        (_spec(lifecycle={"validity": BACKWARDS}), "Error", "so the policy is never active"),
        (
            _spec(scope={"clusters": {"rules": [{"selector": {"matchPattern": "("}}]}}),
            "Error",
            "matchPattern",
        ),
    ],
)
async def test_a_policy_says_whether_it_is_in_force(
    world: Make, spec: dict[str, Any], state: str, text: str
) -> None:
    async with world() as w:
        await w.create("MonitorAccessPolicy", "p", spec)
        async with w.operator():
            found = await _policy(w, state)
            assert text in found.status.message
            assert (found.status.affected_users, found.status.affected_groups) == (2, 1)
            assert len(found.status.hash) == 16


async def test_a_policy_expires_by_itself(world: Make) -> None:
    async with world() as w:
        end = rfc3339.format_time(w.clock.now() + timedelta(seconds=90))
        await w.create("MonitorAccessPolicy", "p", _spec(lifecycle={"validity": {"notAfter": end}}))
        async with w.operator():
            await _policy(w, "Active")
            before = w.clock.monotonic()
            await _policy(w, "Expired")
            assert w.clock.monotonic() - before < 100
            assert "Expired" in await w.events()


async def test_unknown_types_and_fields_are_warned_of(world: Make) -> None:
    async with world() as w:
        rule = {
            "selector": {"matchNames": ["*"]},
            "resources": [
                {"type": "nodes"},
                {"type": "pod", "visibility": "filtered", "filters": {"fields": {"nope": {}}}},
                {"type": "typo"},
            ],
        }
        await w.create("MonitorAccessPolicy", "p", _spec(scope={"clusters": {"rules": [rule]}}))
        async with w.operator():
            found = await _policy(w, "Active")
            assert found.status.custom_resource_types == 2
            assert len(found.status.custom_resource_warnings) == 2

            async def recorded() -> bool:
                return "ProbableMistake" in await w.events()

            await w.until(recorded)
            await w.create(
                "MetricSource",
                "pods",
                {
                    "source": {"apiVersion": "v1", "kind": "Pod"},
                    "fields": [{"name": "phase", "path": ".status.phase"}],
                    "rbac": {"resourceTypeName": "pod"},
                },
            )

            async def warned() -> bool:
                now = await _policy(w, "Active")
                return "pod: unknown field 'nope'" in now.status.custom_resource_warnings

            await w.until(warned)


async def test_a_policy_is_kept_with_indexes_and_deleted_with_them(world: Make) -> None:
    async with world() as w:
        rule = {
            "selector": {"matchNames": ["prod-*"]},
            "resources": [
                {
                    "type": "pod",
                    "visibility": "filtered",
                    "filters": {"namespaces": {"allowed": ["app", "team-*"], "denied": ["x?"]}},
                }
            ],
        }
        await w.create("MonitorAccessPolicy", "p", _spec(scope={"clusters": {"rules": [rule]}}))
        async with w.operator():
            await _policy(w, "Active")
            key = "policy:default:p"
            found = await w.state.get_fields(key)
            assert (found["priority"], found["effect"], found["enabled"]) == (
                "100",
                "Allow",
                "true",
            )
            data = msgspec.json.decode(found["data"])
            [resource] = data["cluster_rules"][0]["resources"]
            assert resource["allowed_ns"] == ["app"]
            assert resource["ns_patterns"] == [["team-*", "^team-.*$"]]
            assert resource["deny_ns_patterns"] == [["x?", "^x.$"]]
            for index in ("policy:user:ann", "policy:group:dev", "policy:customtype:pod"):
                assert await w.state.get_members(index) == {key}
                assert await w.state.get_scored_members(f"{index}:sorted") == [(key, 100.0)]
            assert await w.state.get_members("policies:effect:allow") == {key}
            patch = {"spec": {"identity": {"subjects": {"users": ["bob"]}}}}
            gvr = MonitorAccessPolicy.KIND.gvr
            await w.client.resource(gvr).patch("p", patch, namespace="default")
            await w.until(lambda: _is_empty(w, "policy:user:ann"))
            assert await w.state.get_members("policy:user:bob") == {key}
            await w.client.delete(MonitorAccessPolicy, "p", "default")
            await w.gone(MonitorAccessPolicy, "p")
            assert not [each for each in await w.state.list_keys("") if each.startswith("polic")]


async def _is_empty(w: Any, key: str) -> bool:
    return not await w.state.get_members(key)
