"""Replays answers of a real kube-apiserver 1.36, the newest one that can be built from modules.

`tools/record_answers.py` recorded them. The pairs run in their order against one server of that
release without life cycle, with the admission plugins that the real one had.
"""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import newest
import pytest
from replay import encode_body, learn, masked, parse_body, sort_causes, translated

from quarterdeck.kit import http

FOLDER = Path(__file__).parents[2] / "golden"
PAIRS = [json.loads(line) for line in (FOLDER / "newest-v1.36.3.jsonl").read_text().splitlines()]
DISCOVERY = json.loads((FOLDER / "discovery-v1.36.3.json").read_text())
HEADERS = ("Content-Type", "Warning")
Answer = tuple[int, dict[str, str], Any]


@functools.cache
def replayed() -> tuple[dict[str, Answer], dict[str, Any]]:
    return asyncio.run(_replay())


async def _replay() -> tuple[dict[str, Answer], dict[str, Any]]:
    results: dict[str, Answer] = {}
    known: dict[str, str] = {}
    flags = ("--no-lifecycle", "--disable-admission-plugins", "ServiceAccount")
    async with newest.serving("1.36", *flags) as url, http.Client() as client:
        found = {
            path: parse_body(await (await client.request("GET", url + path)).read())
            for path in DISCOVERY
        }
        for pair in PAIRS:
            request = pair["request"]
            headers = [("User-Agent", "replay/1"), ("Accept", request["accept"])]
            if request["contentType"]:
                headers.append(("Content-Type", request["contentType"]))
            response = await client.request(
                request["method"],
                url + translated(request["path"], known),
                headers=headers,
                body=encode_body(request["body"], known),
            )
            body = parse_body(await response.read())
            learn(pair["body"], body, known)
            sent = {name: response.headers.get(name) or "" for name in HEADERS}
            results[pair["title"]] = (response.status, sent, body)
    return results, found


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["title"] for pair in PAIRS])
def test_answer_is_the_recorded_one(pair: dict[str, Any]) -> None:
    status, headers, body = replayed()[0][pair["title"]]
    assert (status, normalise(body)) == (pair["status"], normalise(pair["body"]))
    assert headers == {name: pair["headers"].get(name, "") for name in HEADERS}


def normalise(body: Any) -> Any:
    """An answer without what differs from run to run, and without descriptions of columns."""
    if isinstance(body, dict) and body.get("kind") == "Table":
        columns = [{**each, "description": ""} for each in body["columnDefinitions"]]
        body = {**body, "columnDefinitions": columns}
    return sort_causes(masked(body))


@pytest.mark.parametrize("path", DISCOVERY)
def test_discovery_lists_what_kubernetes_lists(path: str) -> None:
    assert describe(replayed()[1][path]) == describe(DISCOVERY[path])


def describe(document: dict[str, Any]) -> Any:
    """The groups or resources of a discovery document; the hash of the storage differs."""
    if "resources" in document:
        return [
            {name: each for name, each in item.items() if name != "storageVersionHash"}
            for item in sorted(document["resources"], key=lambda item: str(item["name"]))
        ]
    if "groups" in document:
        return {each["name"]: each for each in document["groups"]}
    return document["versions"]


def test_titles_are_unique() -> None:
    titles = [pair["title"] for pair in PAIRS]
    assert len(set(titles)) == len(titles)
