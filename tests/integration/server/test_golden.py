"""Replays recorded requests to a real kube-apiserver and compares every answer.

The pairs run in the order they were recorded, against one in-process server without life cycle.
What differs from run to run (uids, versions, times, made-up names, addresses) is masked; what the
recording server made up and later requests repeat is translated to what ours made up.
"""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from replay import masked, send_recorded

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.authentication.user import ANONYMOUS_USER, LOCAL_USER, User
from quarterdeck.server.options import ServerOptions
from quarterdeck.wire.status import Unauthorized

GOLDEN = Path(__file__).parents[2] / "golden" / "kube-apiserver-v1.32.4.jsonl"
HEADERS = ("Content-Type", "Warning", "Retry-After", "Cache-Control")
ALICE = User(name="alice", uid="alice", groups=("devs", "system:authenticated"))

NOT_YET: dict[str, str] = {}
"""Titles that do not pass yet, each with its reason."""

PAIRS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


class RecordedIdentities:
    """Takes the identity a pair was recorded with from a header."""

    def authenticate(self, request: http.Request) -> User | None:
        match request.headers.get("x-identity"):
            case None:
                return LOCAL_USER
            case "anonymous":
                return ANONYMOUS_USER
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
            if pair["title"] == "watch too old":
                # the recording server had forgotten its first revisions by then
                await cluster.api.core.store.compact(cluster.api.core.store.revision)
            response, body = await send_recorded(client, cluster.url, pair, known)
            found = {name: response.headers.get(name) or "" for name in HEADERS}
            results[pair["title"]] = (response.status, found, body)
    return results


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
