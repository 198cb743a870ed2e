"""Attacks: spoofed headers, injected labels and queries, stolen looks at other viewers."""

import json as plain_json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.services.hub.conftest import NOW, PROXY, World
from tests.integration.services.hub.test_endpoints import rule

from quarterdeck.hubstate.ports import RangeQuery
from quarterdeck.hubstate.victoriametrics.lines import encode_query
from quarterdeck.kit.http import Peer, Request
from quarterdeck.services.hub.errors import Unauthenticated
from quarterdeck.services.hub.identity import ProxyHeaders, parse_networks

Make = Callable[[], AbstractAsyncContextManager[World]]


async def test_a_trusted_proxy_names_the_user(world: Make) -> None:
    async with world() as w:
        headers = {"X-Forwarded-User": "carol", "X-Forwarded-Groups": "dev, ops"}
        reply = await w.ask("api:/auth/me", headers=headers, peer=PROXY)
        assert reply.body == {"username": "carol", "email": "", "groups": ["dev", "ops"]}


@pytest.mark.parametrize(
    "peer", ["192.168.1.1:1", "127.0.0.1:1", "[::1]:1", "11.0.0.1:1", "/run/socket", "memory:0"]
)
async def test_headers_from_anywhere_else_are_refused(world: Make, peer: str) -> None:
    async with world() as w:
        for name in ("X-Forwarded-User", "x-forwarded-email", "X-FORWARDED-GROUPS"):
            reply = await w.ask("api:/auth/me", headers={name: "root"}, peer=Peer(peer))
            assert reply.status == 401
            assert "trusted proxies" in reply.body["error"]


async def test_a_spoofed_header_beside_a_good_token_is_refused(world: Make) -> None:
    async with world() as w:
        reply = await w.ask("api:/auth/me", "alice", headers={"X-Forwarded-User": "root"})
        assert reply.status == 401


async def test_a_proxy_cannot_name_masters(world: Make) -> None:
    async with world() as w:
        headers = {"X-Forwarded-User": "carol", "X-Forwarded-Groups": "system:masters"}
        reply = await w.ask("api:/clusters", headers=headers, peer=PROXY)
        assert (reply.status, reply.body) == (200, [])


def test_a_header_that_comes_twice_is_refused() -> None:
    headers = [("X-Forwarded-User", "carol"), ("X-Forwarded-User", "root")]
    request = Request.of("GET", "/", headers=headers, peer=PROXY)
    with pytest.raises(Unauthenticated, match="twice"):
        ProxyHeaders(trusted=parse_networks("10.0.0.0/8")).read(request)


@pytest.mark.parametrize("peer", ["[::ffff:10.1.2.3]:5", "10.255.255.255:1"])
def test_addresses_of_both_families_are_compared(peer: str) -> None:
    request = Request.of("GET", "/", headers=[("X-Forwarded-User", "carol")], peer=Peer(peer))
    found = ProxyHeaders(trusted=parse_networks("10.0.0.0/8, fd00::/8")).read(request)
    assert found is not None


@pytest.mark.parametrize("header", ["Basic cm9vdA==", "Bearer", "Bearer ", "Bearer wrong", "x"])
async def test_credentials_that_prove_nothing_are_refused(world: Make, header: str) -> None:
    async with world() as w:
        reply = await w.ask("api:/auth/status", headers={"Authorization": header})
        assert reply.status == 401
        assert reply.headers["www-authenticate"] == "Bearer"


async def test_anonymous_viewers_exist_only_by_flag(world: Make) -> None:
    async with world() as w:
        assert (await w.ask("api:/clusters")).status == 401
        w.hub = w.server(anonymous=True)
        await w.policy("p", subjects={"groups": ["system:unauthenticated"]}, rules=[rule("dev-1")])
        assert [each["name"] for each in await w.get("/clusters")] == ["dev-1"]
        assert (await w.ask("api:/clusters", headers={"Authorization": "Bearer x"})).status == 401


INJECTIONS = [
    '"} or up{x="',
    "prod-east|dev-1",
    ".*",
    "../dev-1",
    "dev-1:node:dev-1-0",
    "x\\",
    "a\nb",
    "$(id)",
    "'; DROP",
]


@pytest.mark.parametrize("text", INJECTIONS)
async def test_names_in_paths_reach_nothing_else(world: Make, text: str) -> None:
    async with world() as w:
        await w.policy("p", rules=[rule("prod-*")])
        name = quote(text, safe="")
        for path in (
            f"/clusters/{name}",
            f"/clusters/{name}/nodes",
            f"/clusters/prod-east/nodes/{name}",
            f"/clusters/prod-east/custom/{name}",
            f"/clusters/{name}/metrics/history?metric=pods_total",
            f"/clusters/prod-east/custom-resources/{name}/metrics/history?metric=total",
        ):
            reply = await w.ask(f"api:{path}", "alice")
            assert reply.status in (403, 404), (path, reply)
        path = f"/clusters/prod-east/nodes/{name}/metrics/history?metric=cpu_capacity"
        assert (await w.get(path, "alice"))["data"]["result"] == []


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.text())
def test_label_values_stay_quoted_in_queries(values: list[str], other: str) -> None:
    query = RangeQuery(
        name="m",
        labels={"cluster": tuple(values), "node": (other,)},
        start=NOW,
        end=NOW,
        step=NOW - NOW.replace(year=2025),
    )
    text = encode_query(query)
    inner = text[text.index("{") + 1 : text.rindex("}[")]
    # every label is name=~"...", and inside the quotes none stands alone
    rest, count = inner, 0
    while rest:
        name, _, tail = rest.partition('=~"')
        assert name.lstrip(",") in ("cluster", "node")
        end = _closing_quote(tail)
        rest, count = tail[end + 1 :], count + 1
    assert count == 2


def _closing_quote(text: str) -> int:
    index = 0
    while text[index] != '"':
        index += 2 if text[index] == "\\" else 1
    return index


async def test_labels_of_a_cluster_are_data(world: Make) -> None:
    async with world() as w:
        await w.cluster("evil", env='prod"} or {', x="</script>")
        await w.policy("p", rules=[{"selector": {"matchLabels": {"env": "prod"}}}])
        names = [each["name"] for each in await w.get("/clusters", "alice")]
        assert "evil" not in names
        reply = await w.ask("api:/clusters/evil", "root")
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_a_revoked_policy_counts_at_once(world: Make) -> None:
    async with world() as w:
        await w.policy("p", rules=[rule("dev-1")])
        tag = (await w.ask("api:/clusters", "alice")).headers["etag"]
        await w.policy("q", effect="Deny", rules=[rule("dev-1")])
        reply = await w.ask("api:/clusters", "alice", headers={"If-None-Match": tag})
        assert (reply.status, reply.body) == (200, [])


async def test_pages_of_other_sites_are_not_answered_by_default(world: Make) -> None:
    async with world() as w:
        origin = {"Origin": "https://evil.example.com"}
        reply = await w.ask("api:/clusters", "root", headers=origin)
        assert "access-control-allow-origin" not in reply.headers
        w.hub = w.server(origins=["https://ui.example.com", "*"])
        named = await w.ask("api:/clusters", headers={"Origin": "https://ui.example.com"})
        assert named.headers["access-control-allow-credentials"] == "true"
        other = await w.ask("api:/clusters", headers=origin)
        assert other.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in other.headers


async def test_tokens_never_stand_in_answers_or_the_audit_log(world: Make) -> None:
    async with world() as w:
        header = {"Authorization": "Bearer very-secret-text"}
        reply = await w.ask("api:/clusters", headers=header)
        await w.hub.audit.flush()
        kept: list[Any] = await w.state.get_items(f"audit:rbac:{NOW:%Y%m%d}", limit=10)
        assert len(kept) == 1
        assert "very-secret-text" not in plain_json.dumps(reply.body) + str(kept)
