"""Replays answers of a real kube-apiserver 1.32 that ours once gave differently.

Random requests to both servers found them (`docs/reference/compatibility.md`). The pairs run in the
order they were recorded, against one in-process server without life cycle.
"""

import asyncio
import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from replay import masked, send_recorded, sort_causes

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.options import ServerOptions

GOLDEN = Path(__file__).parents[2] / "golden" / "differences-v1.32.10.jsonl"
HEADERS = ("Content-Type", "Warning")
PATCHED = re.compile(r'Invalid value: "\{.*\}": ')
PAIRS = [json.loads(line) for line in GOLDEN.read_text().splitlines()]


@functools.cache
def replayed() -> dict[str, tuple[int, dict[str, str], Any]]:
    return asyncio.run(_replay())


async def _replay() -> dict[str, tuple[int, dict[str, str], Any]]:
    results: dict[str, tuple[int, dict[str, str], Any]] = {}
    known: dict[str, str] = {}
    options = ServerOptions(future_revision_wait_s=0.1, lifecycle=False)
    async with Cluster(options=options) as cluster, http.Client() as client:
        for pair in PAIRS:
            response, body = await send_recorded(client, cluster.url, pair, known)
            found = {name: ", ".join(response.headers.get_all(name)) for name in HEADERS}
            results[pair["title"]] = (response.status, found, body)
    return results


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["title"] for pair in PAIRS])
def test_answer_is_the_recorded_one(pair: dict[str, Any]) -> None:
    status, headers, body = replayed()[pair["title"]]
    assert (status, _sort_causes(body)) == (pair["status"], _sort_causes(pair["body"]))
    assert headers == {name: pair["headers"].get(name, "") for name in HEADERS}


def _sort_causes(body: Any) -> Any:
    """An answer without what differs from run to run; Go lists members of maps in any order."""
    body = masked(body)
    details = body.get("details") if isinstance(body, dict) else None
    if not isinstance(details, dict) or not details.get("causes"):
        return body
    causes = [{**cause, "message": _hide_object(cause["message"])} for cause in details["causes"]]
    message = _hide_object(body["message"])
    return sort_causes({**body, "message": message, "details": {**details, "causes": causes}})


def _hide_object(message: str) -> str:
    """Hide a patched object that an error quotes: its members come in any order."""
    return PATCHED.sub('Invalid value: "{}": ', message)


def test_titles_are_unique() -> None:
    titles = [pair["title"] for pair in PAIRS]
    assert len(set(titles)) == len(titles)
