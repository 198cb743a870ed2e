"""Replays answers of a real kube-apiserver 1.36, the newest one that can be built from modules.

`tools/record_answers.py` recorded them. The pairs run in their order against one server of that
release without life cycle, with the admission plugins that the real one had.
"""

import asyncio
import functools
import json
import re
from pathlib import Path
from typing import Any

import newest
import pytest
from replay import masked, parse_body, send_recorded, sort_causes

from quarterdeck.kit import http

FOLDER = Path(__file__).parents[2] / "golden"
PAIRS = [json.loads(line) for line in (FOLDER / "newest-v1.36.3.jsonl").read_text().splitlines()]
BETA = [json.loads(line) for line in (FOLDER / "beta-v1.36.3.jsonl").read_text().splitlines()]
"""Answers about kinds that are beta, and off, in 1.36; in 1.37 they are served as v1."""
DISCOVERY = json.loads((FOLDER / "discovery-v1.36.3.json").read_text())
HEADERS = ("Content-Type", "Warning")
FLAGS = ("--no-lifecycle", "--disable-admission-plugins", "ServiceAccount")
Answer = tuple[int, dict[str, str], Any]


@functools.cache
def replayed() -> dict[str, Answer]:
    return asyncio.run(_replay("1.36", PAIRS))


@functools.cache
def replayed_as_stable() -> dict[str, Answer]:
    return asyncio.run(_replay("1.37", [stable(pair) for pair in BETA]))


@functools.cache
def discovered() -> dict[str, Any]:
    return asyncio.run(_discover())


async def _discover() -> dict[str, Any]:
    async with newest.serving("1.36", *FLAGS) as url, http.Client() as client:
        return {
            path: parse_body(await (await client.request("GET", url + path)).read())
            for path in DISCOVERY
        }


async def _replay(release: str, pairs: list[dict[str, Any]]) -> dict[str, Answer]:
    results: dict[str, Answer] = {}
    known: dict[str, str] = {}
    async with newest.serving(release, *FLAGS) as url, http.Client() as client:
        for pair in pairs:
            response, body = await send_recorded(client, url, pair, known)
            sent = {name: response.headers.get(name) or "" for name in HEADERS}
            results[pair["title"]] = (response.status, sent, body)
    return results


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["title"] for pair in PAIRS])
def test_answer_is_the_recorded_one(pair: dict[str, Any]) -> None:
    status, headers, body = replayed()[pair["title"]]
    assert (status, normalize(body)) == (pair["status"], normalize(pair["body"]))
    assert headers == {name: pair["headers"].get(name, "") for name in HEADERS}


@pytest.mark.parametrize("pair", BETA, ids=[pair["title"] for pair in BETA])
def test_stable_kinds_answer_as_their_beta_versions_did(pair: dict[str, Any]) -> None:
    status, _, body = replayed_as_stable()[pair["title"]]
    assert (status, without_old_members(body)) == (
        pair["status"],
        without_old_members(stable(pair)["body"]),
    )


def stable(pair: dict[str, Any]) -> dict[str, Any]:
    """A pair with the stable version in place of the beta one."""
    found: dict[str, Any] = json.loads(re.sub("v1beta[12]", "v1", json.dumps(pair)))
    return found


def without_old_members(body: Any) -> Any:
    """A normal answer without the members that the beta version of a kind had besides."""
    body = normalize(body)
    for member in ("pkixPublicKey", "proofOfPossession"):
        body.get("spec", {}).pop(member, None)
    return body


def normalize(body: Any) -> Any:
    """An answer without what differs from run to run, and without descriptions of columns."""
    if isinstance(body, dict) and body.get("kind") == "Table":
        columns = [{**each, "description": ""} for each in body["columnDefinitions"]]
        body = {**body, "columnDefinitions": columns}
    return sort_causes(masked(body))


@pytest.mark.parametrize("path", DISCOVERY)
def test_discovery_lists_what_kubernetes_lists(path: str) -> None:
    assert describe(discovered()[path]) == describe(DISCOVERY[path])


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
    titles = [pair["title"] for pair in (*PAIRS, *BETA)]
    assert len(set(titles)) == len(titles)
