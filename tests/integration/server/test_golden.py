"""Replays recorded requests to a real kube-apiserver and compares every answer.

The pairs run in the order they were recorded, against one in-process server without life cycle.
What differs from run to run (uids, versions, times, made-up names, addresses) is masked; what the
recording server made up and later requests repeat is translated to what ours made up.
"""

import asyncio
import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.authentication.user import ANONYMOUS, LOCAL, User
from quarterdeck.server.options import ServerOptions
from quarterdeck.wire.status import Unauthorized

GOLDEN = Path(__file__).parents[2] / "golden" / "kube-apiserver-v1.32.4.jsonl"
HEADERS = ("Content-Type", "Warning", "Retry-After", "Cache-Control")
ALICE = User(name="alice", uid="alice", groups=("devs", "system:authenticated"))

ROLES = "there are no roles yet: administrators may do everything, others nothing"
NOT_YET: dict[str, str] = {
    "alice may get pods": ROLES,
}
"""Titles that do not pass yet, each with its reason."""

PAIRS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


class RecordedIdentities:
    """Takes the identity a pair was recorded with from a header."""

    def authenticate(self, request: http.Request) -> User | None:
        match request.headers.get("x-identity"):
            case None:
                return LOCAL
            case "anonymous":
                return ANONYMOUS
            case "bad token":
                raise Unauthorized
            case _:
                return ALICE


@functools.cache
def replayed() -> dict[str, tuple[int, dict[str, str], Any]]:
    return asyncio.run(_replay())


async def _replay() -> dict[str, tuple[int, dict[str, str], Any]]:
    results: dict[str, tuple[int, dict[str, str], Any]] = {}
    known: dict[str, str] = {}
    options = ServerOptions(future_revision_wait_s=0.1, service_accounts=True, lifecycle=False)
    async with (
        Cluster(options=options, authenticators=(RecordedIdentities(),)) as cluster,
        http.Client() as client,
    ):
        for pair in PAIRS:
            request = pair["request"]
            if pair["title"] == "watch too old":
                # the recording server had forgotten its first revisions by then
                await cluster.api.core.store.compact(cluster.api.core.store.revision)
            headers = [("User-Agent", "replay/1"), ("Accept", request["accept"])]
            if request.get("contentType"):
                headers.append(("Content-Type", request["contentType"]))
            if request.get("identity"):
                headers.append(("X-Identity", request["identity"]))
            response = await client.request(
                request["method"],
                cluster.url + translated(request["path"], known),
                headers=headers,
                body=_body(request["body"], known),
            )
            body = _parse(await response.read())
            learn(pair["body"], body, known)
            found = {name: response.headers.get(name) or "" for name in HEADERS}
            results[pair["title"]] = (response.status, found, body)
    return results


def _body(body: Any, known: dict[str, str]) -> bytes | None:
    if body is None:
        return None
    text = body if isinstance(body, str) else json.dumps(body)
    return translated(text, known).encode()


def translated(text: str, known: dict[str, str]) -> str:
    """A recorded text with what our server made up in place of what the other did."""
    for recorded, ours in known.items():
        if len(recorded) > 8:
            text = text.replace(recorded, ours)
        else:
            text = text.replace(f'"resourceVersion": "{recorded}"', f'"resourceVersion": "{ours}"')
    return text


def learn(recorded: Any, ours: Any, known: dict[str, str]) -> None:
    """Pair the made-up values of two bodies of the same shape."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for name, value in recorded.items():
            other = ours.get(name)
            if name in ("uid", "resourceVersion", "continue") and value and other:
                known[value] = other
                known[quote(value, safe="")] = quote(other, safe="")
            elif name == "name" and "generateName" in recorded and other:
                known[value] = other
            else:
                learn(value, other, known)
    elif isinstance(recorded, list) and isinstance(ours, list):
        for value, other in zip(recorded, ours, strict=False):
            learn(value, other, known)


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        pass
    try:
        lines = [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return data.decode()
    return lines[0] if len(lines) == 1 else lines


MASKED = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "time",
        "lastTransitionTime",
        "lastUpdateTime",
        "continue",
        "clusterIP",
        "clusterIPs",
        "serverAddress",
        "gitCommit",
        "token",
        "expirationTimestamp",
    }
)
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TEXTS = [
    (UID, "<uid>"),
    (re.compile(r"current: \d+"), "current: <rv>"),
    (re.compile(r"too old resource version: \d+ \(\d+\)"), "too old resource version"),
    (re.compile(r"^\d+s$"), "<age>"),
    (re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), "<time>"),
    (re.compile(r"^(gen|g)-[a-z0-9]{5}$"), r"\1-<made up>"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-<made up>"),
]


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("managedFields"), list):  # ordered by time, which is masked
            value = value | {"managedFields": sorted(value["managedFields"], key=_writer)}
        return {
            name: "<masked>" if name in MASKED and each else masked(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        for pattern, text in TEXTS:
            value = pattern.sub(text, value)
    return value


def _writer(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["manager"], entry["operation"], entry.get("subresource", ""))


def _parameters() -> list[Any]:
    return [
        pytest.param(
            pair,
            id=pair["title"],
            marks=pytest.mark.xfail(reason=NOT_YET[pair["title"]])
            if pair["title"] in NOT_YET
            else (),
        )
        for pair in PAIRS
    ]


@pytest.mark.parametrize("pair", _parameters())
def test_answer_is_the_recorded_one(pair: dict[str, Any]) -> None:
    status, headers, body = replayed()[pair["title"]]
    expected = {name: pair["headers"].get(name, "") for name in HEADERS}
    assert (status, masked(body)) == (pair["status"], masked(pair["body"]))
    assert headers == expected


def test_titles_are_unique_and_the_list_of_gaps_is_current() -> None:
    titles = [pair["title"] for pair in PAIRS]
    assert len(set(titles)) == len(titles)
    assert set(NOT_YET) <= set(titles)
