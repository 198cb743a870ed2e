"""A fleet server that lies, repeats credentials, or answers without end."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Masker, Secret
from quarterdeck.operators.pipelines.drivers.answers import MAX_RETRY_S
from quarterdeck.operators.pipelines.drivers.connect import MAX_ANSWER, ConnectClient
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.ports import CallFailed
from quarterdeck.telemetry.fleet.codes import Code

PASSWORD = "correct/horse battery+staple"
PIPELINE = {"name": "p", "contents": "// nothing"}


@asynccontextmanager
async def connected(handle: http.Handler) -> AsyncIterator[ConnectClient]:
    clock = SystemClock()
    server = http.Server(handle)
    listener = await server.listen("127.0.0.1", 0)
    try:
        async with http.Client() as client:
            yield ConnectClient(
                f"http://127.0.0.1:{listener.port}",
                username="user",
                password=Secret(PASSWORD),
                client=client,
                limiter=Limiter(1000.0, 1000, clock=clock),
                clock=clock,
            )
    finally:
        await server.close()


def answering(document: object, *, status: int = 200, **fields: str) -> http.Handler:
    headers = [("content-type", "application/json")]
    headers += [(name.replace("_", "-"), value) for name, value in fields.items()]

    async def handle(request: http.Request) -> http.Response:
        return http.Response(status, headers, json.encode(document))

    return handle


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"wrong password {PASSWORD} of user", id="bare"),
        pytest.param(base64.b64encode(f"user:{PASSWORD}".encode()).decode(), id="basic"),
        pytest.param("correct%2Fhorse%20battery%2Bstaple", id="quoted"),
        pytest.param("x" * 1010 + PASSWORD, id="cut in the middle"),
    ],
)
async def test_repeated_password_is_masked_in_errors(text: str) -> None:
    document = {"code": "internal", "message": text}
    async with connected(answering(document, status=500)) as fleet:
        with pytest.raises(CallFailed) as caught:
            await fleet.create(PIPELINE)
    shown = str(caught.value)
    assert "***" in shown
    for part in ("correct", "horse", base64.b64encode(b"user:corr").decode()[:9]):
        assert part not in shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"refused: {PASSWORD}", id="bare"),
        pytest.param("x" * 1010 + PASSWORD, id="cut in the middle"),
    ],
)
async def test_password_that_a_collector_repeats_is_masked(text: str) -> None:
    part = {"digest": "d", "failed": 1, "failures": [f"edge-1: {text}"]}
    document = {
        "pipelines": [{"id": "7", "parts": [part], "conflicts": [text]}],
        "collectors": [{"id": "edge-1", "status": "FAILED", "errorMessage": text}],
    }
    async with connected(answering(document)) as fleet:
        deliveries = await fleet.get_deliveries()
        states = await fleet.get_collector_states()
    assert deliveries.pipelines["7"].parts[0].failures[0].startswith("edge-1: ")
    assert "***" in str(deliveries) and "***" in str(states)
    for part_of_it in ("correct", "horse"):
        assert part_of_it not in f"{deliveries} {states}"


@pytest.mark.parametrize("member", ["id", "name", "createdAt", "updatedAt"])
async def test_password_in_a_member_that_is_shown_is_refused(member: str) -> None:
    document = {"id": "1", "name": "p", member: f"x{PASSWORD}"}
    async with connected(answering(document)) as fleet:
        with pytest.raises(CallFailed, match="contains the credentials"):
            await fleet.create(PIPELINE)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({}, id="empty"),
        pytest.param({"id": [1]}, id="id is a list"),
        pytest.param({"id": 1}, id="id is a number"),
        pytest.param({"id": ""}, id="id is empty"),
        pytest.param({"id": "x" * 5000}, id="id is long"),
        pytest.param({"id": "1", "name": {}}, id="name is an object"),
        pytest.param({"id": "1", "contents": 5}, id="contents is a number"),
        pytest.param({"id": "1", "matchers": "a=b"}, id="matchers is a string"),
        pytest.param({"id": "1", "matchers": [1]}, id="matcher is a number"),
    ],
)
async def test_wrong_shape_is_an_error(document: object) -> None:
    async with connected(answering(document)) as fleet:
        for call in (fleet.create, fleet.update, fleet.upsert):
            with pytest.raises(CallFailed) as caught:
                await call(PIPELINE)
            assert caught.value.code is Code.INTERNAL
        with pytest.raises(CallFailed):
            await fleet.get("1")


@pytest.mark.parametrize("value", [{}, "x", [1], [[]], 7])
async def test_list_of_something_else_is_an_error(value: object) -> None:
    async with connected(answering({"pipelines": value, "pipelineRevisions": value})) as fleet:
        with pytest.raises(CallFailed, match="not a list of objects"):
            await fleet.list()
        with pytest.raises(CallFailed, match="not a list of objects"):
            await fleet.list_all_revisions()


async def test_empty_list_may_be_left_out() -> None:
    async with connected(answering({})) as fleet:
        assert list(await fleet.list()) == []
        assert list(await fleet.list_all_revisions()) == []


async def test_long_revision_is_not_a_crash() -> None:
    entry = {"snapshot": {"id": "1"}, "revisionId": "9" * 6000}
    async with connected(answering({"pipelineRevisions": [entry]})) as fleet:
        assert len((await fleet.list_all_revisions())[0].id) == 256


async def test_long_pause_is_bounded() -> None:
    handle = answering({"code": "resource_exhausted"}, status=429, retry_after="9" * 30)
    async with connected(handle) as fleet:
        with pytest.raises(CallFailed) as caught:
            await fleet.list()
    assert caught.value.retry_after_s == MAX_RETRY_S


async def test_endless_answer_is_cut_off() -> None:
    sent = 0

    async def write(writer: http.BodyWriter) -> None:
        nonlocal sent
        while sent < 8 * MAX_ANSWER:
            await writer.write(b" " * 65536)
            sent += 65536
            await asyncio.sleep(0)  # so that the end of the connection is noticed

    async def handle(request: http.Request) -> http.StreamResponse:
        return http.StreamResponse(200, [("content-type", "application/json")], write)

    async with connected(handle) as fleet:
        with pytest.raises(CallFailed, match="larger than 8 MiB"):
            await fleet.list()
    assert sent < 4 * MAX_ANSWER


LETTERS = st.characters(codec="utf-8", exclude_characters="*")


@given(st.text(LETTERS, min_size=4, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    assert secret not in Masker(Secret(secret)).mask(before + secret + after)
