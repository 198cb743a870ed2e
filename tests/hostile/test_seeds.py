"""Seeded attacks on a server: whatever comes, it answers, and then serves an honest client.

`QUARTERDECK_SEEDS` is how many seeds each suite runs; the number of a failing one is in its name.
"""

import asyncio
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.builtins import protobuf_writer

SEEDS = range(int(os.environ.get("QUARTERDECK_SEEDS", "3")))
REQUESTS = 25
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON = "application/json"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

Attack = tuple[str, str, bytes, str]
"""Method, path, body and media type."""


def build_value(chance: random.Random, depth: int = 4) -> Any:
    """Any JSON value, with the words that mean something to the server."""
    words = ("metadata", "name", "data", "$patch", "delete", "spec", "items", "\u0000", "é", "a/b")
    match chance.randrange(8 if depth else 5):
        case 0:
            return chance.choice((None, True, False, 0, -1, 2**63, 1.5e300))
        case 1 | 2 | 3:
            return chance.choice(words)
        case 4:
            return "x" * chance.randrange(2_000)
        case 5 | 6:
            return {
                chance.choice(words): build_value(chance, depth - 1)
                for _ in range(chance.randrange(4))
            }
        case _:
            return [build_value(chance, depth - 1) for _ in range(chance.randrange(4))]


def damage(chance: random.Random, body: bytes) -> bytes:
    """Change, drop or repeat some bytes."""
    data = bytearray(body)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(3):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at : at + chance.randrange(20)]
            case _:
                data[at:at] = data[at : at + chance.randrange(20)] * chance.randrange(4)
    return bytes(data)


def attack_patches(chance: random.Random) -> Attack:
    operation = {
        "op": chance.choice(("add", "remove", "copy", "move", "test", "replace", "?")),
        "path": chance.choice(("", "/", "/data/a", "/metadata/name", "/data/-", "data", "/~2")),
        "from": chance.choice(("", "/data", "/metadata")),
        "value": build_value(chance),
    }
    body: Any = (
        [operation] * chance.randrange(1, 4) if chance.random() < 0.5 else build_value(chance)
    )
    query = "?fieldManager=m" if chance.random() < 0.8 else ""
    return "PATCH", f"{MAPS}/victim{query}", kit_json.encode(body), chance.choice(PATCHES)


def attack_yaml(chance: random.Random) -> Attack:
    lines = (
        "metadata: {name: a}",
        "data: &a {b: c}",
        "<<: *a",
        "? [x]\n: y",
        "- 1",
        "\t- tab",
        "a: !!python/object/apply:os.system [x]",
        "[" * chance.randrange(300),
        "%YAML 9.9",
        "---",
        "n: 0x" + "f" * 30,
    )
    body = "\n".join(chance.choices(lines, k=chance.randrange(1, 8))).encode()
    return "POST", MAPS, body, "application/yaml"


def attack_protobuf(chance: random.Random) -> Attack:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }
    body = damage(chance, protobuf_writer.encode(pod))
    return "POST", f"{PODS}?dryRun=All", body, "application/vnd.kubernetes.protobuf"


def build_definition(schema: Any) -> bytes:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }
    return kit_json.encode(definition)


def attack_definitions(chance: random.Random) -> Attack:
    schema: Any = build_value(chance)
    for _ in range(chance.choice((1, 5, 50, 400))):
        word = chance.choice(("properties", "items", "additionalProperties", "allOf"))
        inner: Any = {"a": schema} if word == "properties" else schema
        schema = {"type": "object", word: [inner] if word == "allOf" else inner}
    return "POST", f"{DEFINITIONS}?dryRun=All", build_definition(schema), JSON


def attack_expressions(chance: random.Random) -> Attack:
    words = ("self", "oldSelf", ".a", ".all(x, ", "(", ")", "==", "1", "'x'", "&&", "?", "[", "{")
    rule = " ".join(chance.choices(words, k=chance.randrange(1, 60)))
    node = {"type": "array", "items": {"type": "integer"}}
    rules = {"x-kubernetes-validations": [{"rule": rule}]}
    schema = {"type": "object", "properties": {"spec": {**node, **rules}}}
    return "POST", f"{DEFINITIONS}?dryRun=All", build_definition(schema), JSON


def attack_watches(chance: random.Random) -> Attack:
    version = chance.choice(("", "0", "1", "-1", "x", "99999999999999999999", "1.5"))
    options = {
        "watch": "true",
        "timeoutSeconds": "0" if chance.random() < 0.1 else "1",
        "resourceVersion": version,
        "fieldSelector": chance.choice(("", "metadata.name=a", "spec.x=y", "a==b,,", "=")),
        "labelSelector": chance.choice(("", "a in (b)", "a in (", "!a", "a=b=c")),
        "sendInitialEvents": chance.choice(("true", "false", "maybe")),
    }
    chosen = {"watch", "timeoutSeconds", *chance.sample(sorted(options), 3)}
    query = "&".join(f"{name}={options[name].replace(' ', '%20')}" for name in sorted(chosen))
    return "GET", f"{MAPS}?{query.replace('timeoutSeconds=0', 'timeoutSeconds=1')}", b"", JSON


SUITES: dict[str, Callable[[random.Random], Attack]] = {
    "patches": attack_patches,
    "yaml": attack_yaml,
    "protobuf": attack_protobuf,
    "definitions": attack_definitions,
    "expressions": attack_expressions,
}


async def send(client: http.Client, url: str, attack: Attack) -> tuple[int, bytes]:
    method, path, body, media = attack
    headers = [("content-type", media)]
    response = await client.request(method, url + path, headers=headers, body=body or None)
    return response.status, await response.read()


async def check_honest_client(client: http.Client, url: str) -> None:
    """An honest client creates, reads and deletes an object."""
    body = kit_json.encode({"metadata": {"name": "honest"}, "data": {"a": "b"}})
    assert (await send(client, url, ("POST", MAPS, body, JSON)))[0] == 201
    status, found = await send(client, url, ("GET", f"{MAPS}/honest", b"", JSON))
    assert (status, kit_json.decode(found)["data"]) == (200, {"a": "b"})
    assert (await send(client, url, ("DELETE", f"{MAPS}/honest", b"", JSON)))[0] == 200


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("suite", SUITES)
async def test_hostile_bodies_are_answered_and_break_nothing(suite: str, seed: int) -> None:
    chance = random.Random(f"{suite}-{seed}")
    async with Cluster() as cluster, http.Client() as client:
        victim = kit_json.encode({"metadata": {"name": "victim"}, "data": {"a": "b"}})
        assert (await send(client, cluster.url, ("POST", MAPS, victim, JSON)))[0] == 201
        for _ in range(REQUESTS):
            attack = SUITES[suite](chance)
            status, body = await send(client, cluster.url, attack)
            assert status < 500, (attack, body)
            assert isinstance(kit_json.decode(body), dict)
        await check_honest_client(client, cluster.url)


@pytest.mark.parametrize("seed", SEEDS)
async def test_hostile_watches_end_and_break_nothing(seed: int) -> None:
    chance = random.Random(f"watches-{seed}")
    async with Cluster() as cluster, http.Client() as client:
        attacks = [attack_watches(chance) for _ in range(REQUESTS)]
        answers = await asyncio.gather(*(send(client, cluster.url, each) for each in attacks))
        # a resource version that is no number is a 500 in Kubernetes too, with these words
        assert [
            (attack, body)
            for attack, (status, body) in zip(attacks, answers, strict=True)
            if status >= 500 and b"strconv.ParseUint" not in body and status != 504
        ] == []
        assert cluster.api.core.streams == set()
        await check_honest_client(client, cluster.url)


@pytest.mark.parametrize("seed", SEEDS)
async def test_damaged_requests_end_their_connection_and_no_other(seed: int) -> None:
    chance = random.Random(f"http-{seed}")
    async with Cluster() as cluster, http.Client() as client:
        host, port = cluster.url.removeprefix("http://").split(":")
        request = (
            f"POST {MAPS} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {JSON}\r\n"
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        ).encode()
        for _ in range(REQUESTS):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(damage(chance, request))
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            assert not answer or answer.startswith(b"HTTP/1.1 ")
            assert not answer.startswith(b"HTTP/1.1 500")
        await check_honest_client(client, cluster.url)
