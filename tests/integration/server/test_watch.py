"""Watches: starts, selector transitions, bookmarks, streaming lists, ends and resumption."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.kit import http
from quarterdeck.server.options import ServerOptions

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


async def test_watch_without_version_begins_with_what_is_there(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        async with api.watch(f"{MAPS}?watch=true") as stream:
            assert await stream.names(1) == [("ADDED", "a")]
            await api.make("b")
            await api("DELETE", f"{MAPS}/a")
            assert await stream.names(2) == [("ADDED", "b"), ("DELETED", "a")]


@pytest.mark.parametrize("text", ["true", "True", "1", "yes", ""])
async def test_watch_parameter_is_true_unless_it_says_false(serving: Any, text: str) -> None:
    async with serving() as api:
        await api.make("a")
        async with api.watch(f"{MAPS}?watch={text}&timeoutSeconds=10") as stream:
            assert await stream.names(1) == [("ADDED", "a")]


@pytest.mark.parametrize("text", ["false", "False", "0"])
async def test_watch_parameter_false_is_a_list(serving: Any, text: str) -> None:
    async with serving() as api:
        answer = await api("GET", f"{MAPS}?watch={text}")
        assert answer.body["kind"] == "ConfigMapList"


async def test_watch_from_a_version_gives_only_what_came_later(serving: Any) -> None:
    async with serving() as api:
        version = (await api.make("a")).version
        await api.make("b")
        async with api.watch(f"{MAPS}?watch=1&resourceVersion={version}") as stream:
            assert await stream.names(1) == [("ADDED", "b")]


async def test_deleted_event_carries_the_version_of_the_deletion(serving: Any) -> None:
    async with serving() as api:
        made = await api.make("a")
        async with api.watch(f"{MAPS}?watch=1&resourceVersion={made.version}") as stream:
            await api("DELETE", f"{MAPS}/a")
            kind, last = await stream.next()
            assert kind == "DELETED"
            assert int(last["metadata"]["resourceVersion"]) > int(made.version)
            assert last["metadata"]["uid"] == made.body["metadata"]["uid"]


async def test_selector_transitions_are_added_and_deleted(serving: Any) -> None:
    async with serving() as api:
        await api.make("a", metadata={"labels": {"on": "no"}}, data={"v": "1"})
        async with api.watch(f"{MAPS}?watch=1&labelSelector=on%3Dyes") as stream:
            await api("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"on": "yes"}}}, media=MERGE)
            kind, seen = await stream.next()
            assert (kind, seen["data"]) == ("ADDED", {"v": "1"})
            await api("PATCH", f"{MAPS}/a", {"data": {"v": "2"}}, media=MERGE)
            assert (await stream.next())[0] == "MODIFIED"
            leave = {"metadata": {"labels": {"on": "no"}}, "data": {"v": "3"}}
            left = await api("PATCH", f"{MAPS}/a", leave, media=MERGE)
            kind, seen = await stream.next()
            assert (kind, seen["data"]) == ("DELETED", {"v": "2"})
            assert seen["metadata"]["resourceVersion"] == left.version
            assert seen["metadata"]["labels"] == {"on": "yes"}
            await api("DELETE", f"{MAPS}/a")
            await api.make("b", metadata={"labels": {"on": "yes"}})
            assert await stream.names(1) == [("ADDED", "b")]


async def test_watch_of_one_name_sees_no_other(serving: Any) -> None:
    path = MAPS.replace("/api/v1/", "/api/v1/watch/")
    async with serving() as api, api.watch(f"{path}/b") as by_path:
        selector = "fieldSelector=metadata.name%3Db"
        async with api.watch(f"{MAPS}?watch=1&{selector}") as by_field:
            await api.make("a")
            await api.make("b")
            assert await by_path.names(1) == [("ADDED", "b")]
            assert await by_field.names(1) == [("ADDED", "b")]


async def test_watch_of_all_namespaces_sees_all_and_of_one_only_its_own(serving: Any) -> None:
    async with (
        serving() as api,
        api.watch("/api/v1/configmaps?watch=1") as everywhere,
        api.watch("/api/v1/namespaces/kube-system/configmaps?watch=1") as one,
    ):
        await api.make("a")
        await api.make("b", "/api/v1/namespaces/kube-system/configmaps")
        assert await everywhere.names(2) == [("ADDED", "a"), ("ADDED", "b")]
        assert await one.names(1) == [("ADDED", "b")]


async def test_legacy_watch_path_is_a_watch(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        async with api.watch("/api/v1/watch/namespaces/default/configmaps") as stream:
            assert await stream.names(1) == [("ADDED", "a")]


async def test_streaming_list_ends_its_initial_events_with_a_bookmark(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        newest = (await api.make("b")).version
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        async with api.watch(f"{MAPS}?{query}&allowWatchBookmarks=true") as stream:
            assert await stream.names(2) == [("ADDED", "a"), ("ADDED", "b")]
            kind, mark = await stream.next()
            assert kind == "BOOKMARK"
            assert mark["kind"] == "ConfigMap"
            assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert int(mark["metadata"]["resourceVersion"]) >= int(newest)
            await api.make("c")
            assert await stream.names(1) == [("ADDED", "c")]


async def test_streaming_list_without_bookmarks_has_no_end_of_initial_events(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        async with api.watch(f"{MAPS}?{query}") as stream:
            assert await stream.names(1) == [("ADDED", "a")]
            await api.make("b")
            assert await stream.names(1) == [("ADDED", "b")]


async def test_streaming_list_needs_its_match(serving: Any) -> None:
    async with serving() as api:
        answer = await api("GET", f"{MAPS}?watch=1&sendInitialEvents=true")
        assert answer.status == 422
        assert "sendInitialEvents requires setting resourceVersionMatch" in answer.message


async def test_bookmarks_tell_the_newest_version_of_a_quiet_watch(serving: Any) -> None:
    options = ServerOptions(bookmark_interval_s=0.05)
    async with serving(options=options) as api:
        path = "/api/v1/namespaces/default/secrets?watch=1&allowWatchBookmarks=true"
        async with api.watch(path) as stream:
            version = int((await api.make("elsewhere")).version)
            while True:
                kind, mark = await stream.next()
                assert kind == "BOOKMARK"
                assert mark["metadata"]["creationTimestamp"] is None
                if int(mark["metadata"]["resourceVersion"]) >= version:
                    break


async def test_no_bookmarks_for_those_who_do_not_want_them(serving: Any) -> None:
    options = ServerOptions(bookmark_interval_s=0.02)
    path = f"{MAPS}?watch=1&timeoutSeconds=1"
    async with serving(options=options) as api, api.watch(path) as stream:
        assert await stream.rest() == []


async def test_watch_ends_cleanly_after_its_timeout(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        async with api.watch(f"{MAPS}?watch=1&timeoutSeconds=1") as stream:
            assert await stream.rest() == ["ADDED"]
        assert not api.cluster.api.core.streams


async def test_version_that_is_forgotten_is_an_error_in_the_stream(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        store = api.cluster.api.core.store
        await store.compact(store.revision)
        async with api.watch(f"{MAPS}?watch=1&resourceVersion=2") as stream:
            kind, error = await stream.next()
            assert (kind, error["code"], error["reason"]) == ("ERROR", 410, "Expired")
            assert await stream.rest() == []


async def test_version_of_the_near_future_is_waited_for(serving: Any) -> None:
    async with serving() as api:
        version = int((await api.make("a")).version)
        path = f"{MAPS}?watch=1&resourceVersion={version + 2}"

        async def watch() -> list[tuple[str, str]]:
            async with api.watch(path) as stream:
                names: list[tuple[str, str]] = await stream.names(1)
                return names

        watching = asyncio.ensure_future(watch())
        for name in ("b", "c", "d"):
            await api.make(name)
        assert await watching == [("ADDED", "d")]


async def test_version_that_never_comes_is_an_error(serving: Any) -> None:
    options = ServerOptions(future_revision_wait_s=0.05)
    async with serving(options=options) as api:
        version = int((await api.make("a")).version)
        answer = await api("GET", f"{MAPS}?watch=1&resourceVersion={version + 1000}")
        assert answer.status == 504
        assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_client_resumes_over_a_restart(serving: Any, data_dir: Path) -> None:
    async with serving(in_memory=False, data_dir=data_dir) as api:
        version = (await api.make("a")).version
        await api.make("b")
    path = f"{MAPS}?watch=1&resourceVersion={version}"
    async with (
        serving(in_memory=False, data_dir=data_dir) as api,
        api.watch(path) as stream,
    ):
        assert await stream.names(1) == [("ADDED", "b")]
        await api("DELETE", f"{MAPS}/b")
        assert await stream.names(1) == [("DELETED", "b")]


async def test_slow_watcher_is_dropped_and_others_are_not(serving: Any) -> None:
    options = ServerOptions(watch_buffer_events=10, watch_buffer_bytes=64 * 1024)
    async with serving(options=options) as api:
        await api.make("warm")
        limits = http.ClientLimits(buffer_bytes=1024)
        async with http.Client(limits=limits) as stalled:
            response = await stalled.request("GET", f"{api.cluster.url}{MAPS}?watch=1")
            async with api.watch(f"{MAPS}?watch=1") as quick:
                assert await quick.names(1) == [("ADDED", "warm")]
                large = {"x": "y" * 500_000}
                for number in range(40):
                    await api.make(f"n{number}", data=large)
                    assert await quick.names(1) == [("ADDED", f"n{number}")]
            assert api.cluster.api.core.store.statistics().watchers_dropped == 1
            await response.aclose()


async def test_stop_ends_watches_with_a_proper_end(serving: Any) -> None:
    async with serving() as api, api.watch(f"{MAPS}?watch=1") as stream:
        await api.make("a")
        assert await stream.names(1) == [("ADDED", "a")]
        api.cluster.api.stop()
        assert await stream.rest() == []


async def test_watch_that_the_client_leaves_is_forgotten(serving: Any) -> None:
    async with serving() as api:
        async with api.watch(f"{MAPS}?watch=1"):
            assert len(api.cluster.api.core.streams) == 1
        async with asyncio.timeout(240):
            while api.cluster.api.core.streams:
                await api.make(f"n{api.cluster.api.core.store.revision}")


async def test_thousand_watchers_share_one_frame(serving: Any) -> None:
    async with serving() as api:
        responses = [
            await api.client.request("GET", f"{api.cluster.url}{MAPS}?watch=1") for _ in range(1000)
        ]
        await api.make("a")
        lines = [await anext(response.lines()) for response in responses]
        assert len(set(lines)) == 1
        assert len(api.cluster.api.core.frames) == 1
        for response in responses:
            await response.aclose()


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadata"])
async def test_events_come_in_the_form_asked_for(serving: Any, form: str) -> None:
    async with serving() as api:
        await api.make("a")
        accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
        response = await api.client.request(
            "GET", f"{api.cluster.url}{MAPS}?watch=1&timeoutSeconds=1", headers=[("Accept", accept)]
        )
        body = await response.read()
        assert f'"kind":"{form}"'.encode() in body
