"""The hub deploys collectors: applied, upgraded, refused, and removed again."""

import asyncio
import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.integration.operators.clusters.conftest import Spoke, World

import quarterdeck
from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.hubstate.push import leases, tokens
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.hubstate.writes import DeleteKeys
from quarterdeck.kit import http, json, rfc3339
from quarterdeck.meta.identity import GVR, Key
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.clusters.collector import TOKEN_HASH
from quarterdeck.operators.clusters.collector_objects import (
    AUTHORITY,
    LABELS,
    NAME,
    NAMESPACE,
    TOKEN_SECRET,
)
from quarterdeck.operators.clusters.options import CollectorOptions
from quarterdeck.wire.status import NotFound

Make = Callable[[], AbstractAsyncContextManager[World]]
IMAGE = "registry.example/collector:1"
OPTIONS = CollectorOptions(image=IMAGE, authority="PEM")
RBAC = "rbac.authorization.k8s.io"
OBJECTS = (
    (GVR("apps", "v1", "deployments"), NAME, NAMESPACE),
    (GVR("", "v1", "secrets"), TOKEN_SECRET, NAMESPACE),
    (GVR("", "v1", "configmaps"), AUTHORITY, NAMESPACE),
    (GVR("", "v1", "serviceaccounts"), NAME, NAMESPACE),
    (GVR(RBAC, "v1", "clusterroles"), NAME, ""),
    (GVR(RBAC, "v1", "clusterrolebindings"), NAME, ""),
)
SOURCE = {
    "source": {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
    "fields": [{"name": "name", "path": ".metadata.name"}],
    "rbac": {"resourceTypeName": "pdb"},
}


async def start(w: World, **spec: Any) -> Spoke:
    spoke = await w.spoke()
    await w.secret()
    await w.connect(**{"collectionMode": "push", "ingesterAddress": "hub:9443"} | spec)
    return spoke


async def change(w: World, patch: dict[str, Any]) -> None:
    resource = w.client.resource(ClusterConnection.KIND.gvr)
    await resource.patch("east", patch, namespace="default")


async def wait_reason(w: World, reason: str, **more: Any) -> ClusterConnection:
    async def holds() -> ClusterConnection | None:
        found = await w.get()
        return found if w.condition(found, "CollectorReady").reason == reason else None

    found: ClusterConnection = await w.until(holds, **more)
    return found


def get_image(connection: ClusterConnection) -> str:
    assert connection.status.collector_status is not None
    return connection.status.collector_status.image


async def read(spoke: Spoke, number: int) -> dict[str, Any]:
    gvr, name, namespace = OBJECTS[number]
    return await spoke.client.resource(gvr).get(name, namespace)


async def find_existing(spoke: Spoke) -> list[str]:
    found = []
    for gvr, name, namespace in OBJECTS:
        try:
            await spoke.client.resource(gvr).get(name, namespace)
        except NotFound:
            continue
        found.append(gvr.resource)
    return found


async def read_token(spoke: Spoke) -> str:
    secret = await read(spoke, 1)
    return base64.b64decode(secret["data"]["token"]).decode()


async def set_connected(w: World, *, connected: bool = True) -> None:
    now = rfc3339.format_time(w.clock.now())
    lease = CollectorLease(session="s", version="9.9", connected_at=now, last_heartbeat=now)
    release = DeleteKeys((leases.get_key("east"),))
    await w.state.commit([leases.plan_renewal("east", lease) if connected else release])


async def test_a_push_cluster_gets_a_collector_with_a_token_of_its_own(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            found = await wait_reason(w, "NotConnected")
            assert found.status.phase == "Connected"  # the hub reads it meanwhile
            assert get_image(found) == IMAGE
            assert len(await find_existing(spoke)) == len(OBJECTS)
            token = await read_token(spoke)
            assert token.startswith(tokens.PREFIX)
            assert token != spoke.token
            assert await tokens.check_token(w.state, "east", token)
            deployment = await read(spoke, 0)
            [container] = deployment["spec"]["template"]["spec"]["containers"]
            values = {each["name"]: each.get("value") for each in container["env"]}
            assert container["image"] == IMAGE
            assert values["CLUSTER_NAME"] == "east"
            assert values["INGESTER_ADDRESS"] == "hub:9443"
            assert values["COLLECT_INTERVAL"] == "30"
            assert values["INGESTER_TLS_CA"]
            assert spoke.token not in json.encode(deployment).decode()
            assert "CollectorNotConnected" in await w.events()


async def test_without_an_image_the_condition_says_what_to_set(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator():
            found = await wait_reason(w, "ImageNotSet")
            condition = w.condition(found, "CollectorReady")
            assert condition.status == "False"
            assert "COLLECTOR_IMAGE" in condition.message
            assert "clusters join east" in condition.message
            assert found.status.phase == "Connected"
            assert await find_existing(spoke) == []


async def test_a_pod_that_cannot_start_is_named(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            pods = spoke.client.resource(GVR("", "v1", "pods"))
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "c-1", "namespace": NAMESPACE, "labels": LABELS},
                "spec": {"containers": [{"name": "collector", "image": IMAGE}]},
            }
            await pods.create(pod)
            waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
            status = {
                "containerStatuses": [
                    {
                        "name": "collector",
                        "image": IMAGE,
                        "imageID": "",
                        "ready": False,
                        "restartCount": 0,
                        "state": {"waiting": waiting},
                    }
                ]
            }
            await pods.subresource("status").patch("c-1", {"status": status}, namespace=NAMESPACE)

            async def is_named() -> bool:
                message = w.condition(await w.get(), "CollectorReady").message
                return "pod c-1: ImagePullBackOff no such image" in message

            await w.until(is_named)


async def test_applying_again_changes_nothing(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            before = [await read(spoke, number) for number in (1, 2, 3, 4, 5)]
            applied = sum("clusterroles/" in path for path in spoke.requests)
            await w.advance(400)
            assert sum("clusterroles/" in path for path in spoke.requests) > applied
            assert [await read(spoke, number) for number in (1, 2, 3, 4, 5)] == before
        async with w.operator(collector=OPTIONS):  # a hub that starts anew keeps the token
            token = await read_token(spoke)
            await w.advance(100)
            assert await read_token(spoke) == token


async def test_another_version_upgrades_in_place_and_keeps_the_token(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            token = await read_token(spoke)
            uid = (await read(spoke, 0))["metadata"]["uid"]
            await set_connected(w)
            await wait_reason(w, "Connected")
            await change(w, {"spec": {"collectorVersion": "2.5"}})

            async def is_upgraded() -> bool:
                deployment = await read(spoke, 0)
                [container] = deployment["spec"]["template"]["spec"]["containers"]
                return bool(container["image"] == "registry.example/collector:2.5")

            await w.until(is_upgraded)
            assert (await read(spoke, 0))["metadata"]["uid"] == uid
            assert await read_token(spoke) == token


async def test_a_new_metric_source_widens_the_role_of_connected_collectors(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            await set_connected(w)
            await wait_reason(w, "Connected")
            await w.create("MetricSource", "budgets", SOURCE)

            async def may_read() -> bool:
                rules = (await read(spoke, 4))["rules"]
                return any("poddisruptionbudgets" in rule["resources"] for rule in rules)

            await w.until(may_read, within_s=20)


async def test_a_token_that_the_hub_lost_is_replaced(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            token = await read_token(spoke)
            before = (await read(spoke, 0))["spec"]["template"]["metadata"]["annotations"]
            await w.state.commit([DeleteKeys((tokens.get_key("east"),))])

            async def is_replaced() -> bool:
                return await read_token(spoke) != token

            await w.until(is_replaced)
            assert await tokens.check_token(w.state, "east", await read_token(spoke))
            assert not await tokens.check_token(w.state, "east", token)
            after = (await read(spoke, 0))["spec"]["template"]["metadata"]["annotations"]
            assert after != before  # so that the collector starts again with the new token


async def test_going_back_to_pull_removes_the_collector_and_refuses_its_token(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            token = await read_token(spoke)
            await change(w, {"spec": {"collectionMode": "pull"}})

            async def is_left() -> bool:
                return (await w.get()).status.collector_status is None

            await w.until(is_left)
            assert await find_existing(spoke) == []
            assert not await tokens.check_token(w.state, "east", token)
            assert w.condition(await w.get(), "CollectorReady").status == "Unknown"
            namespaces = spoke.client.resource(GVR("", "v1", "namespaces"))
            assert await namespaces.get(NAMESPACE)  # the hub's account may be in it


async def test_a_collector_on_a_lost_cluster_is_removed_when_it_answers_again(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")

            async def fail(_: http.Request) -> http.Response:
                return http.Response(503, [("Content-Type", "text/plain")], b"gone")

            spoke.fault = fail
            await change(w, {"spec": {"collectionMode": "pull"}})
            await wait_reason(w, "RemovalFailed")
            assert await find_existing(spoke)
            spoke.fault = None

            async def is_left() -> bool:
                return (await w.get()).status.collector_status is None

            await w.until(is_left)
            assert await find_existing(spoke) == []


async def test_deleting_the_connection_removes_the_collector(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            await w.client.delete(ClusterConnection, "east", "default")
            await w.gone(ClusterConnection, "east")
            assert await find_existing(spoke) == []
            assert await w.state.list_keys("cluster:east:") == []


async def test_a_collection_that_ends_while_the_collector_is_removed_is_not_stored(
    world: Make,
) -> None:
    is_listed, may_list = asyncio.Event(), asyncio.Event()
    is_removed, may_remove = asyncio.Event(), asyncio.Event()

    async def wait(request: http.Request) -> None:
        if request.method == "DELETE":
            is_removed.set()
            await may_remove.wait()
        elif "poddisruptionbudgets" in request.path and "limit=1&" not in request.target:
            is_listed.set()
            await may_list.wait()

    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            spoke.fault = wait
            await w.create("MetricSource", "pdbs", SOURCE)
            await w.until(_is_set(is_listed))
            await w.client.delete(ClusterConnection, "east", "default")
            await w.until(_is_set(is_removed))
            may_list.set()
            await w.advance(1)
            may_remove.set()
            await w.gone(ClusterConnection, "east")
            assert await find_existing(spoke) == []
            assert await w.state.list_keys("cluster:east:") == []


def _is_set(event: asyncio.Event) -> Callable[[], Any]:
    async def holds() -> bool:
        return event.is_set()

    return holds


async def test_a_cluster_that_does_not_answer_delays_its_deletion_for_minutes_only(
    world: Make,
) -> None:
    async with world() as w:
        spoke = await start(w)
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            token = await read_token(spoke)

            async def fail(_: http.Request) -> http.Response:
                return http.Response(503, [("Content-Type", "text/plain")], b"gone")

            spoke.fault = fail
            await w.client.delete(ClusterConnection, "east", "default")
            await w.advance(60)
            assert (await w.get()).is_deleting
            assert not await tokens.check_token(w.state, "east", token)
            await w.until(_is_gone(w), within_s=600)
            assert "RemovalFailed" in await w.events()


def _is_gone(w: World) -> Callable[[], Any]:
    async def holds() -> bool:
        try:
            await w.get()
        except NotFound:
            return True
        return False

    return holds


async def test_a_hub_that_may_only_read_says_what_is_forbidden(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)

        async def refuse(request: http.Request) -> http.Response | None:
            if request.method in ("GET", "HEAD"):
                return None
            body = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "Forbidden",
                "message": "namespaces is forbidden: no patch",
                "code": 403,
            }
            return http.Response(403, [("Content-Type", "application/json")], json.encode(body))

        spoke.fault = refuse
        async with w.operator(collector=OPTIONS):
            found = await wait_reason(w, "Forbidden")
            assert "namespaces is forbidden" in w.condition(found, "CollectorReady").message
            assert found.status.health == "healthy"  # reading works
            await change(w, {"spec": {"collectionMode": "pull"}})

            async def is_left() -> bool:
                return (await w.get()).status.collector_status is None

            await w.until(is_left)  # nothing was deployed, so nothing must be removed


async def test_a_cluster_that_was_joined_by_hand_is_left_to_the_user(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        hashed = tokens.hash_token("east", "qdc_printed")
        await change(w, {"metadata": {"annotations": {TOKEN_HASH: hashed}}})
        async with w.operator(collector=OPTIONS):
            await wait_reason(w, "NotConnected")
            assert await find_existing(spoke) == []
            await change(w, {"spec": {"collectionMode": "pull"}})

            async def is_refused() -> bool:
                return not await tokens.check_token(w.state, "east", "qdc_printed")

            await w.until(is_refused)


async def test_the_authority_comes_from_the_hubs_config_map(world: Make) -> None:
    async with world() as w:
        spoke = await start(w)
        options = CollectorOptions(image=IMAGE, authority_map=Key("default", "ingester-ca"))
        async with w.operator(collector=options):
            found = await wait_reason(w, "AuthorityUnavailable")
            assert "default/ingester-ca" in w.condition(found, "CollectorReady").message
            assert await find_existing(spoke) == []
            metadata = ObjectMeta(name="ingester-ca", namespace="default")
            await w.client.create(ConfigMap(metadata=metadata, data={"service-ca.crt": "PEM-1"}))
            await wait_reason(w, "NotConnected", within_s=90)
            assert (await read(spoke, 2))["data"] == {"service-ca.crt": "PEM-1"}


async def test_an_ingester_that_cannot_listen_is_named(world: Make) -> None:
    async with world() as w:
        await start(w)
        async with w.operator(collector=OPTIONS):
            assert w.hub is not None
            w.hub.ingester_problem = "cannot listen on 127.0.0.1:9443"
            found = await wait_reason(w, "IngesterUnavailable")
            assert "127.0.0.1:9443" in w.condition(found, "CollectorReady").message


@pytest.mark.parametrize("version", ["", "2.5"])
async def test_an_image_without_tag_gets_the_hubs_version(world: Make, version: str) -> None:
    async with world() as w:
        await start(w, **({"collectorVersion": version} if version else {}))
        async with w.operator(collector=CollectorOptions(image="host:5000/collector")):
            found = await wait_reason(w, "NotConnected")
            tag = version or quarterdeck.__version__
            assert get_image(found) == f"host:5000/collector:{tag}"


async def test_address_that_nobody_can_dial_is_not_deployed(world: Make) -> None:
    async with world() as w:
        spoke = await start(w, ingesterAddress="https://hub.example.com:9443")
        async with w.operator(collector=OPTIONS):
            found = await wait_reason(w, "InvalidSpec")
            text = w.condition(found, "CollectorReady").message
            assert "spec.ingesterAddress 'https://hub.example.com:9443' is not an address" in text
            assert found.status.health == "healthy"
            assert await find_existing(spoke) == []
