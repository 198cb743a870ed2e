"""Who may read the metrics: asked of the API server, remembered for a while."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.runtime.endpoints.authorization import DelegatingAuthorizer
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, DeleteOptions, PatchOptions, UpdateOptions


class Reviews:
    """Knows one good token, and who may read /metrics."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failures = 0
        self.allowed = {"prometheus"}

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = CreateOptions(), /
    ) -> bytes:
        if self.failures:
            self.failures -= 1
            raise ConnectionFailed("down")
        self.asked.append(path.resource)
        spec = msgspec.json.decode(body)["spec"]
        if path.resource == "tokenreviews":
            known = {"good": "prometheus", "other": "stranger", "limited": "prometheus"}.get(
                spec["token"]
            )
            status: dict[str, Any] = {"authenticated": known is not None}
            if known:
                status["user"] = {"username": known, "groups": ["g"]}
            if spec["token"] == "limited":
                status["user"]["extra"] = {"scopes.example.com": ["user:info"]}
        else:
            assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
            status = {"allowed": spec["user"] in self.allowed and not spec.get("extra")}
        return msgspec.json.encode({"status": status})

    async def update(
        self, path: ResourcePath, body: bytes, options: UpdateOptions = UpdateOptions(), /
    ) -> bytes:
        raise AssertionError

    async def patch(
        self,
        path: ResourcePath,
        body: bytes,
        kind: PatchType,
        options: PatchOptions = PatchOptions(),
        /,
    ) -> bytes:
        raise AssertionError

    async def delete(
        self, path: ResourcePath, options: DeleteOptions = DeleteOptions(), /
    ) -> bytes:
        raise AssertionError


async def page(request: http.Request) -> http.Response:
    return http.Response(200, [], b"numbers")


async def ask(guard: DelegatingAuthorizer, authorization: str = "") -> int:
    async with http.Server(guard.protect(page)) as server:
        listener = await server.listen("127.0.0.1", 0)
        async with http.Client() as client:
            headers = [("authorization", authorization)] if authorization else []
            answer = await client.request("GET", f"{listener.url}/metrics", headers=headers)
            await answer.read()
            return answer.status


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        pytest.param("", 401, id="nobody"),
        pytest.param("Basic Zm9v", 401, id="another scheme"),
        pytest.param("Bearer bad", 401, id="unknown token"),
        pytest.param("Bearer other", 403, id="known but not allowed"),
        pytest.param("Bearer limited", 403, id="limited by the token's scopes"),
        pytest.param("Bearer good", 200, id="allowed"),
    ],
)
async def test_callers_are_authenticated_and_authorized(authorization: str, status: int) -> None:
    assert (
        await ask(DelegatingAuthorizer(Reviews(), VirtualClock(), random.Random(1)), authorization)
        == status
    )


async def test_answers_are_remembered_for_their_time() -> None:
    reviews, clock = Reviews(), VirtualClock()
    guard = DelegatingAuthorizer(reviews, clock, random.Random(1))
    for _ in range(3):
        assert await ask(guard, "Bearer good") == 200
    assert reviews.asked == ["tokenreviews", "subjectaccessreviews"]
    await clock.advance(61)
    assert await ask(guard, "Bearer good") == 200
    assert reviews.asked[2:] == ["tokenreviews"]
    await clock.advance(300)
    reviews.allowed.clear()
    assert await ask(guard, "Bearer good") == 403
    reviews.allowed.add("prometheus")
    await clock.advance(31)
    assert await ask(guard, "Bearer good") == 200


@pytest.mark.parametrize(("failures", "status"), [(4, 200), (5, 500)])
async def test_an_unreachable_api_server_is_asked_five_times(failures: int, status: int) -> None:
    reviews, clock = Reviews(), VirtualClock()
    reviews.failures = failures
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(
            ask(DelegatingAuthorizer(reviews, clock, random.Random(1)), "Bearer good")
        )
        while not asked.done():
            await clock.advance(0.1)
            await asyncio.sleep(0.001)
    assert asked.result() == status
    assert clock.monotonic() >= 4.0, "half a second, half as much again, …"
