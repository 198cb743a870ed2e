"""Access policies: their state, what they concern, and when that changes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import MonitorAccessPolicy
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.writes import DeleteKeys, SetFields
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


@pytest.mark.parametrize(
    ("effect", "is_enforced"), [("Deny", True), ("Allow", False)], ids=["deny", "allow"]
)
async def test_only_a_deny_policy_is_enforced_while_it_is_invalid(
    world: Make, effect: str, is_enforced: bool
) -> None:
    rules = [{"selector": {"matchPattern": "("}}]
    spec = _spec(access={"effect": effect}, scope={"clusters": {"rules": rules}})
    async with world() as w:
        await w.create("MonitorAccessPolicy", "p", spec)
        async with w.operator():
            found = await _policy(w, "Error")
            assert "spec.scope.clusters.rules[0].selector.matchPattern" in found.status.message
            assert ("the policy denies in doubt" in found.status.message) == is_enforced
            await w.until(lambda: w.state.get_fields("policy:default:p"))
            enabled = await w.state.get_members("policies:enabled")
            assert (enabled == {"policy:default:p"}) == is_enforced


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


async def _lose_everything(w: Any) -> None:
    """The store loses its data, as Redis without persistence does when it restarts."""
    await w.state.commit([DeleteKeys(tuple(await w.state.list_keys("")))])


async def test_a_policy_that_the_store_lost_is_stored_again(world: Make) -> None:
    async with world() as w:
        await w.create("MonitorAccessPolicy", "p", _spec(access={"effect": "Deny"}))
        async with w.operator(policy_interval_s=60):
            await _policy(w, "Active")
            await w.until(lambda: w.state.get_members("policies:effect:deny"))
            await _lose_everything(w)
            await w.advance(70)
            assert await w.state.get_members("policies:effect:deny") == {"policy:default:p"}
            assert (await w.state.get_fields("policy:default:p"))["effect"] == "Deny"


async def test_a_policy_that_another_replica_has_replaced_is_stored_again(world: Make) -> None:
    """A replica that gets a policy back must not believe what it has stored long ago."""
    async with world() as w:
        await w.create("MonitorAccessPolicy", "p", _spec(access={"effect": "Deny"}))
        async with w.operator(policy_interval_s=60):
            await _policy(w, "Active")
            await w.until(lambda: w.state.get_members("policies:effect:deny"))
            fields = {"hash": "of an edit that was taken back", "effect": "Allow"}
            await w.state.commit([SetFields("policy:default:p", fields)])
            await w.advance(70)
            assert (await w.state.get_fields("policy:default:p"))["effect"] == "Deny"


async def test_what_is_left_of_objects_that_are_gone_is_removed_at_the_start(world: Make) -> None:
    """A restored API server has no finalizers to run, and the store is a file of its own."""
    source = {
        "source": {"apiVersion": "v1", "kind": "Node"},
        "fields": [{"name": "label", "path": ".metadata.name"}],
        "aggregations": [{"name": "total", "function": "count"}],
        "rbac": {"resourceTypeName": "machine"},
    }
    async with world() as before:
        await before.spoke("east")
        await before.secret("east")
        await before.connect("east")
        await before.create("MonitorAccessPolicy", "p", _spec())
        await before.create("MetricSource", "nodes", source)
        await before.create("RegistryConnection", "hub", {"endpoint": "127.0.0.1:1"})
        async with before.operator():
            await before.health("healthy")
            await _policy(before, "Active")

            async def is_stored() -> bool:
                return "default/nodes" in await before.state.get_members(keys.SOURCES) and bool(
                    await before.state.get_members(keys.REGISTRIES)
                )

            await before.until(is_stored)
        async with world() as after:  # an API server without any of these objects
            await after.create("MonitorAccessPolicy", "other", _spec())
            async with after.operator(state=before.state):

                async def is_clean() -> bool:
                    found = await before.state.get_members(keys.POLICIES)
                    return bool(found == {keys.policy("default", "other")})

                await after.until(is_clean)
                left = await before.state.list_keys("")
        assert not [each for each in left if each.startswith(("cluster:", "registry:"))]
        for key in (keys.CLUSTERS, keys.REGISTRIES, keys.SOURCES, keys.sources_of_type("machine")):
            assert not await before.state.get_members(key)
        by_user = await before.state.get_members(keys.policies_of("user", "ann"))
        assert keys.policy("default", "p") not in by_user
