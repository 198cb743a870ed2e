"""Lists: pages, versions, selectors, forms, and lists too long to hold the loop."""

import asyncio
import base64
import gzip
import json
import time
from typing import Any

import pytest

from quarterdeck.server.options import ServerOptions

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer.body["items"]]


async def test_pages_are_one_consistent_list(serving: Any) -> None:
    async with serving() as api:
        for name in "abcde":
            await api.make(name)
        first = await api("GET", f"{MAPS}?limit=2")
        assert names(first) == ["a", "b"]
        assert first.body["metadata"]["remainingItemCount"] == 3
        await api.make("bb")
        await api("DELETE", f"{MAPS}/d")
        token = first.body["metadata"]["continue"]
        second = await api("GET", f"{MAPS}?limit=2&continue={token}")
        assert names(second) == ["c", "d"]
        assert second.version == first.version
        last = await api("GET", f"{MAPS}?limit=2&continue={second.body['metadata']['continue']}")
        assert names(last) == ["e"]
        assert "continue" not in last.body["metadata"]


async def test_pages_over_all_namespaces_are_in_order(serving: Any) -> None:
    async with serving() as api:
        for space in ("kube-system", "default"):
            for name in "ab":
                await api.make(name, f"/api/v1/namespaces/{space}/configmaps")
        found: list[tuple[str, str]] = []
        token = ""
        while True:
            page = await api("GET", f"/api/v1/configmaps?limit=1&continue={token}")
            found += [
                (item["metadata"]["namespace"], item["metadata"]["name"])
                for item in page.body["items"]
            ]
            token = page.body["metadata"].get("continue", "")
            if not token:
                break
        assert found == [
            ("default", "a"),
            ("default", "b"),
            ("kube-system", "a"),
            ("kube-system", "b"),
        ]


async def test_page_with_selector_counts_matches_only(serving: Any) -> None:
    async with serving() as api:
        for number in range(10):
            await api.make(f"n{number}", metadata={"labels": {"odd": str(number % 2)}})
        page = await api("GET", f"{MAPS}?limit=3&labelSelector=odd%3D1")
        assert names(page) == ["n1", "n3", "n5"]
        assert "remainingItemCount" not in page.body["metadata"]


async def test_expired_page_offers_an_inconsistent_rest(serving: Any) -> None:
    async with serving() as api:
        for name in "abc":
            await api.make(name)
        page = await api("GET", f"{MAPS}?limit=1")
        await api.make("d")
        store = api.cluster.api.core.store
        await store.compact(store.revision)
        gone = await api("GET", f"{MAPS}?limit=1&continue={page.body['metadata']['continue']}")
        assert (gone.status, gone.body["reason"]) == (410, "Expired")
        token = gone.body["metadata"]["continue"]
        rest = await api("GET", f"{MAPS}?continue={token}")
        assert names(rest) == ["b", "c", "d"]


def _token(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("%25%25%25", id="not base64"),
        pytest.param(_token([1]), id="not an object"),
        pytest.param(_token({"v": "other/v1", "rv": 5, "start": "a"}), id="another version"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": 0, "start": "a"}), id="no revision"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": 5, "start": ""}), id="no key"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": "x", "start": "a"}), id="not a number"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": 10**9, "start": "a\0"}), id="the future"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": 5, "start": "../../a\0"}), id="escape"),
        pytest.param(_token({"v": "meta.k8s.io/v1", "rv": 5, "start": "a/b/c\0"}), id="too deep"),
    ],
)
async def test_foreign_continue_token_is_refused(serving: Any, token: str) -> None:
    async with serving() as api:
        answer = await api("GET", f"{MAPS}?continue={token}")
        assert answer.status == 400
        assert answer.message.startswith("invalid continue token")


async def test_exact_version_shows_the_past(serving: Any) -> None:
    async with serving() as api:
        version = (await api.make("a")).version
        await api.make("b")
        exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
        assert names(await api("GET", f"{MAPS}?{exact}")) == ["a"]
        assert names(await api("GET", f"{MAPS}?resourceVersion={version}&limit=5")) == ["a"]
        assert names(await api("GET", f"{MAPS}?resourceVersion={version}")) == ["a", "b"]
        assert names(await api("GET", f"{MAPS}?resourceVersion=0")) == ["a", "b"]


async def test_forgotten_exact_version_is_expired(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        store = api.cluster.api.core.store
        await store.compact(store.revision)
        answer = await api("GET", f"{MAPS}?resourceVersion=2&resourceVersionMatch=Exact")
        assert (answer.status, answer.body["reason"]) == (410, "Expired")


async def test_version_that_is_about_to_happen_is_waited_for(serving: Any) -> None:
    async with serving() as api:
        version = int((await api.make("a")).version)
        async with asyncio.TaskGroup() as group:
            listed = group.create_task(api("GET", f"{MAPS}?resourceVersion={version + 1}"))
            await api.make("b")
        assert names(listed.result()) == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        pytest.param("labelSelector=a%20b", 400, "unable to parse requirement", id="labels"),
        pytest.param("fieldSelector=a", 400, "invalid selector", id="fields"),
        pytest.param("fieldSelector=data.x%3D1", 400, "known field selector", id="unknown field"),
        pytest.param("limit=x", 400, "strconv.ParseInt", id="limit"),
        pytest.param("resourceVersion=x", 500, "strconv.ParseUint", id="version"),
        pytest.param(
            "resourceVersion=1&resourceVersionMatch=Foo", 422, "Unsupported value", id="match"
        ),
        pytest.param(
            "resourceVersion=0&resourceVersionMatch=Exact", 422, "is forbidden", id="exact zero"
        ),
        pytest.param("sendInitialEvents=true", 422, "is forbidden for list", id="initial events"),
    ],
)
async def test_broken_options_are_named(serving: Any, query: str, status: int, text: str) -> None:
    async with serving() as api:
        answer = await api("GET", f"{MAPS}?{query}")
        assert answer.status == status, answer
        assert text in answer.message


async def test_field_selectors_of_name_namespace_and_kind(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        await api.make("b")
        twice = "fieldSelector=metadata.name%3Da,metadata.name%3Da"
        assert names(await api("GET", f"{MAPS}?{twice}")) == ["a"]
        other = "fieldSelector=metadata.name!%3Da"
        assert names(await api("GET", f"{MAPS}?{other}")) == ["b"]
        neither = "fieldSelector=metadata.name%3Da,metadata.name%3Db"
        assert names(await api("GET", f"{MAPS}?{neither}")) == []
        place = "fieldSelector=metadata.namespace%3Ddefault"
        assert names(await api("GET", f"/api/v1/configmaps?{place}")) == ["a", "b"]
        phase = "fieldSelector=status.phase%3DActive"
        assert "default" in names(await api("GET", f"/api/v1/namespaces?{phase}"))


async def test_items_of_built_in_lists_leave_out_their_type(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        await api.define_widgets()
        widgets = "/apis/stable.example.com/v1/namespaces/default/widgets"
        body = {"apiVersion": "stable.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        assert (await api("POST", widgets, body)).status == 201
        assert "kind" not in (await api("GET", MAPS)).body["items"][0]
        assert (await api("GET", widgets)).body["items"][0]["kind"] == "Widget"
        assert (await api("GET", "/api/v1/secrets")).body["items"] == []


async def test_table_includes_what_is_asked_for(serving: Any) -> None:
    async with serving() as api:
        await api.make("a", data={"k": "v"})
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        for include, kind in (("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")):
            answer = await api("GET", f"{MAPS}?includeObject={include}", accept=accept)
            assert answer.body["rows"][0]["object"]["kind"] == kind
        answer = await api("GET", f"{MAPS}?includeObject=None", accept=accept)
        assert answer.body["rows"][0]["object"] is None


async def test_large_bodies_are_compressed_for_those_who_accept_it(serving: Any) -> None:
    options = ServerOptions(gzip_bytes=1000, stream_bytes=20_000)
    async with serving(options=options) as api:
        for number in range(30):
            await api.make(f"n{number}", data={"x": "y" * 1000})
        for query in ("?limit=5", ""):
            plain = await api("GET", f"{MAPS}{query}")
            packed = await api("GET", f"{MAPS}{query}", accept_encoding="gzip")
            assert packed.headers.get("content-encoding") == "gzip"
            assert json.loads(gzip.decompress(packed.body)) == plain.body


async def test_long_list_never_holds_the_loop(serving: Any) -> None:
    options = ServerOptions(stream_bytes=256 * 1024)
    async with serving(options=options) as api:
        store = api.cluster.api.core.store
        await _fill(store, 100_000)
        longest = 0.0
        done = asyncio.Event()

        async def heartbeat() -> None:
            nonlocal longest
            last = time.thread_time()
            while not done.is_set():
                await asyncio.sleep(0)
                now = time.thread_time()
                longest, last = max(longest, now - last), now

        async with asyncio.TaskGroup() as group:
            group.create_task(heartbeat())
            answer = await api.client.request("GET", f"{api.cluster.url}{MAPS}")
            size = 0
            async for chunk in answer.chunks():
                size += len(chunk)
            done.set()
        assert size > 100_000 * 300
        # Work done between two turns, not time passed: a busy machine makes no difference.
        assert longest < 0.05, f"one turn of the loop worked for {longest * 1000:.1f} ms"


async def _fill(store: Any, count: int) -> None:
    from quarterdeck.storage import StoreKey

    for number in range(count):
        name = f"n{number:06}"
        body = {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "data": {"x": "y" * 256},
        }
        text = json.dumps(body, separators=(",", ":")).encode()
        key = StoreKey("configmaps", "default", name)
        ticket = store.put(key, lambda _revision, text=text: text)
        if not number % 1000:
            await ticket
    await ticket


async def test_negative_limit_is_no_limit(serving: Any) -> None:
    async with serving() as api:
        for name in "abc":
            await api.make(name)
        assert names(await api("GET", f"{MAPS}?limit=-1")) == ["a", "b", "c"]


async def test_last_page_with_selector_offers_no_more(serving: Any) -> None:
    async with serving() as api:
        for number in range(4):
            await api.make(f"n{number}", metadata={"labels": {"odd": str(number % 2)}})
        page = await api("GET", f"{MAPS}?limit=2&labelSelector=odd%3D0")
        assert names(page) == ["n0", "n2"]
        assert "continue" not in page.body["metadata"]
