"""Replays recorded requests about rights, admission, webhooks and conversion.

The pairs run in the order they were recorded, against one in-process server with roles and the
default admission plugins, and a webhook server that behaves as the one at the recording.
"""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from replay import encode_body, learn, masked, parse_body, translated
from webhook_server import WebhookServer, webhook_server

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.options import ServerOptions

GOLDEN = Path(__file__).parents[2] / "golden" / "auth-v1.32.4.jsonl"
NOT_YET = GOLDEN.with_name("auth-not-yet.txt")
"""Titles that do not pass yet: `title: reason` a line."""
HEADERS = ("Content-Type", "Warning")
TOKENS = {
    "admin-token": User(name="admin", uid="u-admin", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP)),
    "alice-token": User(name="alice", uid="u-alice", groups=("devs", AUTHENTICATED_GROUP)),
    "bob-token": User(name="bob", uid="u-bob", groups=(AUTHENTICATED_GROUP,)),
    "carol-token": User(name="carol", uid="u-carol", groups=("ops", AUTHENTICATED_GROUP)),
}
PAIRS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]

Answer = tuple[int, dict[str, str], Any]


@functools.cache
def replayed() -> dict[str, Answer]:
    return asyncio.run(_replay())


async def _replay() -> dict[str, Answer]:
    results: dict[str, Answer] = {}
    known: dict[str, str] = {}
    options = ServerOptions(
        service_accounts=True,
        controllers=frozenset(
            {"clusterrole-aggregation-controller", "validatingadmissionpolicy-status"}
        ),
    )
    async with (
        webhook_server() as hooks,
        Cluster(
            options=options,
            authenticators=(BearerTokens(TOKENS),),
        ) as cluster,
        http.Client() as client,
    ):
        for pair in PAIRS:
            if "wait" in pair["request"]:
                assert cluster.api.lifecycle is not None
                await cluster.api.lifecycle.wait_until_idle()
            request = _fill_in(pair["request"], hooks, cluster.url)
            response = await client.request(
                request["method"],
                cluster.url + translated(request["path"], known),
                headers=_headers(request, results),
                body=encode_body(_with_token(request["body"], pair["title"], results), known),
            )
            body = parse_body(_leave_out(await response.read(), hooks, cluster.url))
            learn(pair["body"], body, known)
            found = {name: _header(response, name) for name in HEADERS}
            results[pair["title"]] = (response.status, found, body)
    return results


def _places(hooks: WebhookServer, url: str) -> dict[str, str]:
    """What the placeholders of the recording stand for."""
    return {
        "${HOOK_URL}": hooks.url,
        "${HOOK_CA}": hooks.ca_bundle,
        "${SERVER}": url.partition("://")[2],
    }


def _fill_in(value: Any, hooks: WebhookServer, url: str) -> Any:
    text = json.dumps(value)
    for placeholder, place in _places(hooks, url).items():
        text = text.replace(placeholder, place)
    return json.loads(text)


def _leave_out(data: bytes, hooks: WebhookServer, url: str) -> bytes:
    for placeholder, place in _places(hooks, url).items():
        data = data.replace(place.encode(), placeholder.encode())
    return data


def _header(response: http.ClientResponse, name: str) -> str:
    return ", ".join(response.headers.get_all(name))


def _headers(request: dict[str, Any], results: dict[str, Answer]) -> list[tuple[str, str]]:
    headers = [("User-Agent", "replay/1"), ("Accept", request["accept"])]
    if request.get("contentType"):
        headers.append(("Content-Type", request["contentType"]))
    special = request.get("headers") or {}
    for name, values in special.items():
        headers.extend((name, each) for each in (values if isinstance(values, list) else [values]))
    if "Authorization" not in special and (token := _token(request.get("identity"), results)):
        headers.append(("Authorization", f"Bearer {token}"))
    return headers


def _token(identity: str | None, results: dict[str, Answer]) -> str:
    if identity is None:
        return "admin-token"
    if identity == "anonymous":
        return ""
    name = identity.partition(",")[0]
    if f"{name}-token" in TOKENS:
        return f"{name}-token"
    if "token of case " not in identity:
        return "unknown-token"
    case = identity.partition("token of case ")[2]
    case, garbled, _ = case.partition(" with a letter more")
    return _issued(case, results) + ("x" if garbled else "")


def _issued(case: str, results: dict[str, Answer]) -> str:
    body = results[case][2]
    return str(body.get("status", {}).get("token", "")) if isinstance(body, dict) else ""


REVIEWED = {
    "token review plain": "token plain",
    "token review audience match": "token audience",
    "token review audience mismatch": "token audience",
    "token review bound": "token bound pod",
    "token review account gone": "token before account goes",
}
"""Whose token a review is about."""


def _with_token(body: Any, title: str, results: dict[str, Answer]) -> Any:
    """Put the issued token in place of `<jwt>` in a TokenReview."""
    if not isinstance(body, dict) or body.get("spec", {}).get("token") != "<jwt>":
        return body
    case = REVIEWED[title]
    return {**body, "spec": {**body["spec"], "token": _issued(case, results)}}


def _gaps() -> dict[str, str]:
    if not NOT_YET.exists():
        return {}
    lines = [line for line in NOT_YET.read_text().splitlines() if line.strip()]
    return {title: reason for title, _, reason in (line.partition(": ") for line in lines)}


def _parameters() -> list[Any]:
    gaps = _gaps()
    return [
        pytest.param(
            pair,
            id=pair["title"],
            marks=pytest.mark.xfail(reason=gaps[pair["title"]]) if pair["title"] in gaps else (),
        )
        for pair in PAIRS
    ]


def _sorted(body: Any) -> Any:
    """The same with the rules of a SelfSubjectRulesReview in one order: the server has none."""
    if isinstance(body, dict) and body.get("kind") == "SelfSubjectRulesReview":
        status = body["status"]
        for name in ("resourceRules", "nonResourceRules"):
            status = {**status, name: sorted(status[name], key=json.dumps)}
        return {**body, "status": status}
    return body


@pytest.mark.parametrize("pair", _parameters())
def test_answer_is_the_recorded_one(pair: dict[str, Any]) -> None:
    status, headers, body = replayed()[pair["title"]]
    expected = {name: pair["headers"].get(name, "") for name in HEADERS}
    assert (status, _sorted(masked(body))) == (pair["status"], _sorted(masked(pair["body"])))
    assert headers == expected
