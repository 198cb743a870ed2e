"""Arbitrary bodies to every kind: whatever comes, the answer is a Status and never a 500."""

import asyncio
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import http
from quarterdeck.meta import builtins
from quarterdeck.meta.schema import Node
from quarterdeck.server.api import ApiServer
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_memory

RESOURCES = {
    f"{each.gvr.resource}.{each.gvr.api_version}": each
    for each in build_builtin_resources()
    if "create" in each.verbs
}
MEDIA = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

TEXTS = ["", "a", "A b", "1", "25%", "1Gi", "10.0.0.1", "*/5 * * * *", "None", "Always", "TCP", "é"]
TEXTS += ["2026-01-01T00:00:00Z", "x" * 300]
NUMBERS: list[Any] = [0, -1, 1, 80, 70_000, 2**31, 2**63 - 1, 1.5, -0.0]
SCALARS: list[Any] = [None, True, False, *NUMBERS, *TEXTS]


def value_of(chance: random.Random, node: Node, depth: int = 6) -> Any:
    """Something like what a schema asks for, now and then something else."""
    if depth <= 0 or chance.random() < 0.12:
        return _anything(chance)
    if node.properties:
        names = [name for name in sorted(node.properties) if name not in _NEVER]
        chosen = chance.sample(names, min(len(names), chance.randrange(6)))
        return {name: value_of(chance, node.properties[name], depth - 1) for name in chosen}
    if node.items is not None:
        items = node.items
        return [value_of(chance, items, depth - 1) for _ in range(chance.randrange(3))]
    if isinstance(node.additional, Node):
        keys = chance.sample(["a", "b/c", "", "A B"], chance.randrange(3))
        return {key: value_of(chance, node.additional, depth - 1) for key in keys}
    match node.type:
        case "string":
            return chance.choice(TEXTS)
        case "integer" | "number":
            return chance.choice(NUMBERS[:6])
        case "boolean":
            return chance.random() < 0.5
        case _:
            return _anything(chance)


_NEVER = ("apiVersion", "kind", "managedFields")


def _anything(chance: random.Random) -> Any:
    match chance.randrange(6):
        case 0:
            return [chance.choice(SCALARS)]
        case 1:
            return {chance.choice(["a", "name", ""]): chance.choice(SCALARS)}
        case _:
            return chance.choice(SCALARS)


def build_request(method: str, target: str, body: bytes, media: str) -> http.Request:
    headers = [("content-type", media), ("host", "localhost")]
    return http.Request.of(
        method, target, headers=headers, body=body, peer=http.Peer("127.0.0.1:1")
    )


def answer_to(requests: list[tuple[str, str, Any, str]]) -> list[tuple[int, bytes]]:
    async def run() -> list[tuple[int, bytes]]:
        store = open_memory(derive=decode_object_meta)
        api = ApiServer(store, ServerOptions(lifecycle=False))
        await api.start()
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, each: problems.append(each))
        answers = []
        for method, target, body, media in requests:
            request = build_request(method, target, msgspec.json.encode(body), media)
            answer = await api.handle(request)
            assert isinstance(answer, http.Response)
            answers.append((answer.status, answer.body))
        await store.close()
        for problem in problems:
            raise AssertionError(problem["message"]) from problem.get("exception")
        return answers

    return asyncio.run(run())


def collection_of(name: str) -> str:
    resource = RESOURCES[name]
    root = f"/apis/{resource.api_version}" if resource.gvr.group else "/api/v1"
    space = "/namespaces/default" if resource.namespaced else ""
    return f"{root}{space}/{resource.gvr.resource}"


@pytest.mark.parametrize("name", sorted(RESOURCES))
def test_no_body_makes_a_built_in_kind_fail(name: str) -> None:
    resource = RESOURCES[name]
    node = builtins.find_node(resource.gvk)
    assert node is not None

    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        chance = random.Random(seed)
        first, second = value_of(chance, node), value_of(chance, node)
        form = chance.choice(sorted(MEDIA))
        if isinstance(first, dict) and isinstance(first.get("metadata", {}), dict):
            first["metadata"] = {**first.get("metadata", {}), "name": "x"}
        if form == "apply" and isinstance(second, dict):
            second |= {"apiVersion": resource.api_version, "kind": resource.kind}
        path = collection_of(name)
        answers = answer_to(
            [
                ("POST", path, first, "application/json"),
                ("PATCH", f"{path}/x?fieldManager=f", second, MEDIA[form]),
                ("PUT", f"{path}/x", second, "application/json"),
                ("GET", path, None, "application/json"),
                ("DELETE", f"{path}/x", second, "application/json"),
            ]
        )
        for status, body in answers:
            assert status < 500 or _is_meant(body), (status, body)

    check()


_MEANT = (
    "resourceVersion should not be set",
    "failed to ",
    "couldn't get version/kind",
    "json: cannot unmarshal",
    "map: map[",
    "no kind ",
    "strconv.ParseUint",
)


def _is_meant(body: bytes) -> bool:
    """Kubernetes answers some bad input with a 500 of its own wording."""
    message: str = json.loads(body)["message"]
    return message.startswith(_MEANT)
