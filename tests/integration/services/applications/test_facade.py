"""The plain HTTP surface over real sockets: what it promises, and the bugs it must not have."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client.client import Client
from quarterdeck.client.raw import RawApi
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators import applications
from quarterdeck.runtime import Manager
from quarterdeck.server.options import ServerOptions
from quarterdeck.services.applications import Facade
from quarterdeck.services.applications.proxy import Proxy

GROUP = "/apis/cloudnative.elide.dev/v1"
APPS = f"{GROUP}/namespaces/default/applications"
JSON = [("Content-Type", "application/json")]


class Site:
    """A façade that listens, and a client that speaks to it."""

    def __init__(self, url: str, browser: http.Client, facade: Facade, client: Client) -> None:
        self.url = url
        self.browser = browser
        self.facade = facade
        self.client = client

    async def ask(
        self, method: str, path: str, body: object = None, headers: Any = JSON
    ) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.encode(body) if body is not None else None
        answer = await self.browser.request(
            method, self.url + path, headers=headers if data is not None else (), body=data
        )
        async with answer:
            content = await answer.read()
        try:
            return answer.status, json.decode(content)
        except json.JsonError:
            return answer.status, content

    @contextlib.asynccontextmanager
    async def watch(
        self, query: str = "", headers: Any = ()
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        answer = await self.browser.request("GET", f"{self.url}/watch{query}", headers=headers)
        async with asyncio.timeout(240), answer:
            assert answer.status == 200
            assert answer.headers.get("content-type") == "text/event-stream"
            async with contextlib.aclosing(_frames(answer)) as frames:
                yield frames


async def _frames(answer: http.ClientResponse) -> Any:
    found: dict[str, Any] = {}
    async for line in answer.lines():
        text = line.decode()
        if not text.strip():
            if found:
                yield found
            found = {}
        elif text.startswith(":"):
            yield {"comment": text[1:].strip()}
        else:
            name, _, value = text.partition(": ")
            found[name] = json.decode(value) if name == "data" else value.strip()


@contextlib.asynccontextmanager
async def site(
    *,
    history: int = 1000,
    heartbeat_s: float = 15.0,
    through_proxy: bool = False,
    operator: bool = True,
) -> AsyncIterator[Site]:
    options = ServerOptions(simulate_workloads=True)
    async with Cluster(options=options) as cluster, contextlib.AsyncExitStack() as stack:
        client = cluster.client
        await definitions.install(client.raw, [Application])
        manager = Manager(client)
        if operator:
            applications.register(manager)
        assert isinstance(client.raw, RawApi)
        others = Proxy(client.raw.transport).handle if through_proxy else cluster.api.handle
        facade = Facade(
            api=client.raw,
            cache=manager.informers.ensure(Application).cache,
            others=others,
            clock=SystemClock(),
            history=history,
            heartbeat_s=heartbeat_s,
        )
        await stack.enter_async_context(manager.running())
        server = http.Server(facade.handle)
        listener = await server.listen("127.0.0.1", 0)
        stack.push_async_callback(server.drain, 1.0)
        browser = await stack.enter_async_context(http.Client())
        yield Site(listener.url, browser, facade, client)


def application(name: str = "my-app", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"replicas": 3, "image": "nginx:latest", "strategy": "RollingUpdate", **spec},
    }


async def seen(frames: AsyncIterator[dict[str, Any]], type_: str, name: str = "") -> dict[str, Any]:
    async for frame in frames:
        data = frame.get("data")
        if not data or data["type"] != type_:
            continue
        if not name or data["object"]["metadata"].get("name") == name:
            return frame
    raise AssertionError(f"no {type_} came")


@pytest.mark.parametrize("through_proxy", [False, True], ids=["embedded", "proxied"])
async def test_an_application_is_created_changed_and_deleted(through_proxy: bool) -> None:
    async with site(through_proxy=through_proxy) as there, there.watch() as frames:
        status, made = await there.ask("POST", APPS, application())
        assert (status, made["metadata"]["namespace"]) == (201, "default")
        status, found = await there.ask("GET", f"{APPS}/my-app")
        assert (status, found["metadata"]["uid"]) == (200, made["metadata"]["uid"])
        put = application(replicas=5)
        put["metadata"]["namespace"] = "default"
        status, changed = await there.ask("PUT", f"{APPS}/my-app", put)
        assert (status, changed["spec"]["replicas"]) == (200, 5)
        for member in ("uid", "creationTimestamp"):
            assert changed["metadata"][member] == made["metadata"][member]
        assert changed["metadata"]["generation"] == 2
        status, listed = await there.ask("GET", APPS)
        assert (status, listed["kind"], len(listed["items"])) == (200, "ApplicationList", 1)
        assert (await there.ask("GET", f"{GROUP}/applications"))[0] == 200
        async for frame in frames:
            data = frame.get("data")
            if data and data["object"].get("status", {}).get("readyReplicas") == 5:
                break
        status, gone = await there.ask("DELETE", f"{APPS}/my-app")
        assert (status, gone["status"]) == (200, "Success")
        await seen(frames, "DELETED", "my-app")
        assert (await there.ask("GET", f"{APPS}/my-app"))[0] == 404


async def test_index_health_and_definition_are_served() -> None:
    async with site(operator=False) as there:
        status, index = await there.ask("GET", "/")
        assert status == 200
        assert (index["version"], index["resources"]) == ("v1", 0)
        assert {"health", "crd", "resources", "watch", "events"} <= index["endpoints"].keys()
        assert await there.ask("GET", "/healthz") == (200, {"status": "healthy"})
        status, definition = await there.ask("GET", "/crd")
        assert (status, definition["kind"]) == (200, "CustomResourceDefinition")
        assert (await there.ask("GET", "/version"))[0] == 200
        assert (await there.ask("GET", "/api/v1/namespaces/default"))[0] == 200
        assert (await there.ask("GET", "/nothing-here"))[0] == 404
        await there.client.raw.delete(
            there.client.resource(_crds()).path("", "applications.cloudnative.elide.dev")
        )
        status, missing = await there.ask("GET", "/crd")
        assert (status, missing["error"]) == (404, "CRD not found")


def _crds() -> Any:
    from quarterdeck.meta.identity import GVR

    return GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


async def test_a_missing_namespace_is_made() -> None:
    async with site(operator=False) as there:
        path = f"{GROUP}/namespaces/test/applications"
        status, made = await there.ask("POST", path, application("test-app"))
        assert (status, made["metadata"]["namespace"]) == (201, "test")
        assert (await there.ask("GET", "/api/v1/namespaces/test"))[0] == 200
        path = f"{GROUP}/namespaces/Bad_Name/applications"
        assert (await there.ask("POST", path, application()))[0] == 400


async def test_no_namespace_is_created_for_a_bad_application() -> None:
    async with site(operator=False) as there:
        path = f"{GROUP}/namespaces/test/applications"
        bad = application("test-app")
        bad["metadata"]["namespace"] = "test"
        bad["spec"]["replicas"] = -1
        status, answer = await there.ask("POST", path, bad)
        assert (status, answer["fields"][0]["field"]) == (400, "spec.replicas")
        bad["metadata"]["namespace"] = "other"
        assert (await there.ask("POST", path, bad))[0] == 400
        assert (await there.ask("GET", "/api/v1/namespaces/test"))[0] == 404


async def test_the_type_of_a_body_that_is_no_object_is_named_as_in_json() -> None:
    async with site(operator=False) as there:
        path = f"{GROUP}/namespaces/default/applications"
        status, answer = await there.ask("POST", path, b"null")
        assert (status, answer["message"]) == (
            400,
            "the body is not a JSON object: its type is null",
        )


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        pytest.param(b"{bad", 400, "Invalid JSON", id="not JSON"),
        pytest.param(b"[]", 400, "Invalid JSON", id="not an object"),
        pytest.param(b"", 400, "Invalid JSON", id="empty"),
        pytest.param(b'{"a":1,"a":2}', 400, "duplicate", id="a member twice"),
        pytest.param(application(replica=1), 400, 'unknown field "spec.replica"', id="a misprint"),
        pytest.param(application(replicas=-1), 400, "Validation failed", id="negative replicas"),
        pytest.param(application(replicas=101), 400, "Validation failed", id="too many replicas"),
        pytest.param(application(replicas="x"), 400, "Validation failed", id="wrong type"),
        pytest.param(application(image=""), 400, "Validation failed", id="no image"),
        pytest.param(application(image="a b"), 400, "Validation failed", id="blanks in the image"),
        pytest.param(application(strategy="Wild"), 400, "Validation failed", id="strategy"),
        pytest.param(application("Bad Name"), 400, "Validation failed", id="name"),
        pytest.param(application(config={"a b": "c"}), 400, "Validation failed", id="config key"),
    ],
)
async def test_bad_bodies_are_refused_with_an_error_and_a_status(
    body: Any, status: int, error: str
) -> None:
    async with site(operator=False) as there:
        got, answer = await there.ask("POST", APPS, body)
        assert got == status
        assert error in answer["error"]
        assert (answer["kind"], answer["status"]) == ("Status", "Failure")
        if error == "Validation failed":
            assert answer["fields"][0]["field"]
            assert answer["fields"][0]["message"]


async def test_the_namespace_and_name_of_the_path_win() -> None:
    async with site(operator=False) as there:
        elsewhere = application()
        elsewhere["metadata"]["namespace"] = "other"
        status, answer = await there.ask("POST", APPS, elsewhere)
        assert (status, "error" in answer) == (400, True)
        await there.ask("POST", APPS, application())
        status, answer = await there.ask("PUT", f"{APPS}/my-app", application("another"))
        assert (status, "error" in answer) == (400, True)


async def test_creating_twice_is_a_conflict_and_changes_nothing() -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application())
        status, answer = await there.ask("POST", APPS, application(replicas=9))
        assert (status, answer["reason"]) == (409, "AlreadyExists")
        assert (await there.ask("GET", f"{APPS}/my-app"))[1]["spec"]["replicas"] == 3


async def test_a_stale_version_is_a_conflict_and_no_version_is_not() -> None:
    async with site(operator=False) as there:
        _, made = await there.ask("POST", APPS, application())
        put = application(replicas=4)
        assert (await there.ask("PUT", f"{APPS}/my-app", put))[0] == 200
        put["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        status, answer = await there.ask("PUT", f"{APPS}/my-app", put)
        assert (status, answer["reason"], "error" in answer) == (409, "Conflict", True)


async def test_updates_without_a_version_all_arrive_under_contention() -> None:
    async with site() as there:
        await there.ask("POST", APPS, application())
        answers = await asyncio.gather(
            *(
                there.ask("PUT", f"{APPS}/my-app", application(config={"n": str(number)}))
                for number in range(8)
            )
        )
        assert {status for status, _ in answers} == {200}


async def test_an_update_keeps_finalizers_labels_and_status() -> None:
    async with site() as there, there.watch() as frames:
        body = application()
        body["metadata"]["labels"] = {"team": "blue"}
        await there.ask("POST", APPS, body)
        async for frame in frames:
            data = frame.get("data")
            if data and data["object"].get("status", {}).get("phase") == "Running":
                break
        _, changed = await there.ask("PUT", f"{APPS}/my-app", application(image="nginx:1.27"))
        assert changed["metadata"]["finalizers"] == ["cloudnative.elide.dev/finalizer"]
        assert changed["metadata"]["labels"] == {"team": "blue"}
        assert changed["status"]["phase"] == "Running"


async def test_an_absent_object_is_404_with_an_error() -> None:
    async with site(operator=False) as there:
        for method, body in (("GET", None), ("PUT", application("none")), ("DELETE", None)):
            status, answer = await there.ask(method, f"{APPS}/none", body)
            assert (status, answer["error"]) == (404, "Resource not found")


async def test_deleting_again_while_finalizers_run_is_a_success() -> None:
    async with site(operator=False) as there:
        body = application()
        body["metadata"]["finalizers"] = ["example.com/wait"]
        await there.ask("POST", APPS, body)
        for _ in range(2):
            status, answer = await there.ask("DELETE", f"{APPS}/my-app")
            assert (status, answer["status"]) == (200, "Success")
        assert (await there.ask("GET", f"{APPS}/my-app"))[1]["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("path", ["/", "/healthz", "/crd", "/watch", "/events"])
async def test_other_methods_are_answered_and_name_what_is_allowed(path: str) -> None:
    async with site(operator=False) as there:
        answer = await there.browser.request("POST", there.url + path, body=b"{}")
        async with answer:
            assert answer.status == 405
            assert answer.headers.get("allow") == "GET, HEAD"
            assert "error" in json.decode(await answer.read())


async def test_too_large_and_foreign_bodies_are_refused() -> None:
    async with site(operator=False) as there:
        large = json.encode(application(config={"a": "x" * (1024 * 1024)}))
        assert (await there.ask("POST", APPS, large))[0] == 413
        foreign = [("Content-Type", "text/csv")]
        assert (await there.ask("POST", APPS, b"a;b", foreign))[0] == 415


async def test_patch_scale_and_status_are_kubernetes() -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application())
        merge = [("Content-Type", "application/merge-patch+json")]
        status, patched = await there.ask(
            "PATCH", f"{APPS}/my-app", {"spec": {"replicas": 7}}, merge
        )
        assert (status, patched["spec"]["replicas"]) == (200, 7)
        status, scale = await there.ask("GET", f"{APPS}/my-app/scale")
        assert (status, scale["spec"]["replicas"]) == (200, 7)


async def test_web_pages_of_others_are_kept_out() -> None:
    async with site(operator=False) as there:
        page = [*JSON, ("Origin", "https://example.com")]
        assert (await there.ask("POST", APPS, application(), page))[0] == 403
        answer = await there.browser.request(
            "GET", f"{there.url}/events", headers=[("Sec-Fetch-Site", "cross-site")]
        )
        async with answer:
            assert answer.status == 403


# --- watch


async def test_status_changes_are_events_too() -> None:
    async with site() as there, there.watch() as frames:
        await there.ask("POST", APPS, application())
        await seen(frames, "ADDED", "my-app")
        phases = set()
        async for frame in frames:
            data = frame.get("data")
            if data:
                phases.add(data["object"].get("status", {}).get("phase"))
                if "Running" in phases:
                    break
        assert "Running" in phases


async def test_a_watch_resumes_where_it_was() -> None:
    async with site(operator=False) as there:
        async with there.watch() as frames:
            await there.ask("POST", APPS, application("a"))
            last = (await seen(frames, "ADDED", "a"))["id"]
        await there.ask("POST", APPS, application("b"))
        await there.ask("POST", APPS, application("c"))
        async with there.watch(headers=[("Last-Event-ID", last)]) as frames:
            assert (await seen(frames, "ADDED"))["data"]["object"]["metadata"]["name"] == "b"
            assert (await seen(frames, "ADDED"))["data"]["object"]["metadata"]["name"] == "c"


async def test_a_watch_that_breaks_in_the_current_state_gets_the_rest() -> None:
    async with site(operator=False) as there:
        for name in ("b", "a"):
            await there.ask("POST", APPS, application(name))
        async with there.watch("?sendInitialEvents=true") as frames:
            await seen(frames, "BOOKMARK")  # the cache has both
        async with there.watch() as frames:
            first = await seen(frames, "ADDED")
        for name in ("c", "d"):
            await there.ask("POST", APPS, application(name))
        async with there.watch(headers=[("Last-Event-ID", first["id"])]) as frames:
            second, third = await seen(frames, "ADDED"), await seen(frames, "ADDED")
        names = [each["data"]["object"]["metadata"]["name"] for each in (first, second, third)]
        assert sorted(names) == ["a", "b", "c"]


async def test_a_watch_that_missed_too_much_is_told_and_starts_over() -> None:
    async with site(operator=False, history=2) as there:
        for number in range(5):
            await there.ask("POST", APPS, application(f"a{number}"))
        async with there.watch("?sendInitialEvents=true") as frames:
            await seen(frames, "BOOKMARK")
        async with there.watch(headers=[("Last-Event-ID", "1")]) as frames:
            error = await seen(frames, "ERROR")
            assert error["data"]["object"]["code"] == 410
            names = [
                (await seen(frames, "ADDED"))["data"]["object"]["metadata"]["name"]
                for _ in range(5)
            ]
            assert names == [f"a{number}" for number in range(5)]


async def test_a_watch_that_returns_to_a_younger_server_starts_over() -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application("a"))
        async with there.watch("?sendInitialEvents=true") as frames:
            await seen(frames, "ADDED", "a")
        async with there.watch(headers=[("Last-Event-ID", "1000000")]) as frames:
            assert (await seen(frames, "ERROR"))["data"]["object"]["code"] == 410
            await seen(frames, "ADDED", "a")


async def test_initial_events_end_with_a_bookmark() -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application("a"))
        async with there.watch() as frames:
            await there.ask("POST", APPS, application("b"))
            await seen(frames, "ADDED", "b")
        async with there.watch("?sendInitialEvents=true") as frames:
            await seen(frames, "ADDED", "a")
            await seen(frames, "ADDED", "b")
            assert (await seen(frames, "BOOKMARK"))["id"]


async def test_a_late_watch_gets_a_heartbeat_and_the_current_state_first() -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application("a"))
        async with there.watch("?sendInitialEvents=true") as frames:
            await seen(frames, "ADDED", "a")  # the cache has it
        async with there.watch() as frames:
            assert "comment" in await anext(frames) or "comment" in await anext(frames)
            await there.ask("POST", APPS, application("b"))
            first, second = await seen(frames, "ADDED"), await seen(frames, "ADDED")
            assert first["data"]["object"]["metadata"]["name"] == "a"
            assert second["data"]["object"]["metadata"]["name"] == "b"
        async with there.watch("?sendInitialEvents=false") as frames:
            await there.ask("POST", APPS, application("c"))
            assert (await seen(frames, "ADDED"))["data"]["object"]["metadata"]["name"] == "c"


async def test_a_watch_delivers_what_its_filters_match() -> None:
    async with site(operator=False) as there, there.watch("?name=b&namespace=default") as frames:
        await there.ask("POST", APPS, application("a"))
        await there.ask("POST", APPS, application("b"))
        assert (await seen(frames, "ADDED"))["data"]["object"]["metadata"]["name"] == "b"


async def test_object_that_leaves_the_selector_is_deleted_for_the_watch() -> None:
    labeled = application("a")
    labeled["metadata"]["labels"] = {"team": "x"}
    async with site(operator=False) as there, there.watch("?labelSelector=team%3Dx") as frames:
        await there.ask("POST", APPS, labeled)
        await seen(frames, "ADDED", "a")
        for team, type_ in (("y", "DELETED"), ("x", "ADDED")):
            labeled["metadata"]["labels"]["team"] = team
            await there.ask("PUT", f"{APPS}/a", labeled)
            assert (await seen(frames, type_, "a"))["data"]["type"] == type_


async def test_heartbeats_keep_a_silent_watch_alive() -> None:
    async with site(operator=False, heartbeat_s=0.01) as there, there.watch() as frames:
        beats = 0
        async for frame in frames:
            beats += "comment" in frame
            if beats == 3:
                break


async def test_a_listener_that_left_is_forgotten() -> None:
    async with site(operator=False, heartbeat_s=0.01) as there:
        async with there.watch() as frames:
            await anext(frames)
            assert there.facade.listeners == 1
        async with asyncio.timeout(240):
            while there.facade.listeners:  # noqa: ASYNC110 -- nothing tells the outside
                await asyncio.sleep(0.01)


async def test_a_bad_watch_is_refused() -> None:
    async with site(operator=False) as there:
        status, answer = await there.ask("GET", "/watch?labelSelector=((")
        assert (status, "error" in answer) == (400, True)


# --- events


async def test_events_tell_what_happened() -> None:
    async with site() as there, there.watch() as frames:
        await there.ask("POST", APPS, application())
        async for frame in frames:
            data = frame.get("data")
            if data and data["object"].get("status", {}).get("phase") == "Running":
                break
        _, answer = await there.ask("GET", "/events")
        reasons = [event["reason"] for event in answer["events"]]
        assert reasons[-1] == "Created"
        assert "Updated" in reasons
        newest = answer["events"][0]
        assert newest["involvedObject"]["name"] == "my-app"
        assert {
            "id",
            "type",
            "severity",
            "message",
            "firstTimestamp",
            "lastTimestamp",
            "count",
        } <= (newest.keys())
        assert len((await there.ask("GET", "/events?limit=1"))[1]["events"]) == 1
        assert (await there.ask("GET", "/events?limit=x"))[0] == 400
        assert (await there.ask("GET", "/events?name=other"))[1]["events"] == []


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param({"dryRun": ["All"]}, 200, id="dry run"),
        pytest.param({"preconditions": {"uid": "somebody-else"}}, 409, id="another object"),
        pytest.param({"dryRun": "All"}, 400, id="cannot be understood"),
    ],
)
async def test_options_of_a_deletion_are_kept(options: dict[str, Any], status: int) -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application())
        assert (await there.ask("DELETE", f"{APPS}/my-app", options))[0] == status
        assert (await there.ask("GET", f"{APPS}/my-app"))[0] == 200


async def test_a_bad_option_of_a_deletion_is_named() -> None:
    async with site(operator=False) as there:
        status, answer = await there.ask("DELETE", f"{APPS}/my-app", {"gracePeriodSeconds": "x"})
        assert status == 400 and "DeleteOptions.gracePeriodSeconds" in answer["message"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param(f"{APPS}/my-app", {"Authorization": "Bearer wrong"}, id="token"),
        pytest.param("/api/v1/secrets", {"Authorization": "Bearer wrong"}, id="token elsewhere"),
        pytest.param("/events", {"Authorization": "Bearer wrong"}, id="token on own path"),
        pytest.param("/api/v1/secrets", {"Impersonate-User": "nobody"}, id="impersonation"),
        pytest.param(f"{APPS}/my-app", {"Impersonate-User": "nobody"}, id="impersonation here"),
    ],
)
async def test_credentials_are_never_ignored(path: str, headers: dict[str, str]) -> None:
    async with site(operator=False) as there:
        await there.ask("POST", APPS, application())
        answer = await there.browser.request("GET", there.url + path, headers=headers.items())
        async with answer:
            assert answer.status in (401, 403)
