"""Webhooks that hang, lie, answer garbage, loop or grow the object: each is refused."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from webhook_server import webhook_server

from quarterdeck.kit import http
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
GROUP = "/apis/admissionregistration.k8s.io/v1"
JSON = [("Content-Type", "application/json")]


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def answer(review: Object, **response: Any) -> http.Response:
    document = {
        "apiVersion": review["apiVersion"],
        "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": True, **response},
    }
    return http.Response(200, JSON, json.dumps(document).encode())


def patch(review: Object, *operations: Object) -> http.Response:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return answer(review, patchType="JSONPatch", patch=encoded)


async def read(request: http.Request) -> Object:
    review: Object = json.loads(await request.read(16 * 1024 * 1024))
    return review


@contextlib.asynccontextmanager
async def hooked(
    serving: Any,
    handle: Callable[[http.Request], Any],
    *,
    mutating: bool = True,
    count: int = 1,
    **webhook: Any,
) -> AsyncIterator[Any]:
    """A server with webhooks that one handler answers."""
    kind = "Mutating" if mutating else "Validating"
    async with webhook_server(handle) as hooks, serving() as api:
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "attack"},
            "webhooks": [
                {
                    "name": f"w{number}.attack.example.com",
                    "clientConfig": {"url": f"{hooks.url}/{number}", "caBundle": hooks.ca_bundle},
                    "rules": [rule],
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    **webhook,
                }
                for number in range(count)
            ],
        }
        made = await api("POST", f"{GROUP}/{kind.lower()}webhookconfigurations", configuration)
        assert made.status == 201, made.body
        yield api


async def test_webhook_that_hangs_is_given_up(serving: Any) -> None:
    released = asyncio.Event()

    async def hang(request: http.Request) -> http.Response:
        await released.wait()
        return http.Response(200, JSON, b"{}")

    async with hooked(serving, hang, timeoutSeconds=1) as api:
        refused = await api("POST", MAPS, config_map("a"))
        assert refused.status == 500
        assert "context deadline exceeded" in refused.message
        assert (await api("GET", MAPS)).status == 200, "others are served meanwhile"
        released.set()


async def test_webhook_that_hangs_is_ignored_where_failures_are(serving: Any) -> None:
    released = asyncio.Event()

    async def hang(request: http.Request) -> http.Response:
        await released.wait()
        return http.Response(200, JSON, b"{}")

    async with hooked(serving, hang, timeoutSeconds=1, failurePolicy="Ignore") as api:
        assert (await api("POST", MAPS, config_map("a"))).status == 201
        released.set()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"\xff\xfe\x00", id="bytes"),
        pytest.param(b"{" * 5000, id="deep"),
        pytest.param(b'{"kind":"AdmissionReview"}', id="no version"),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":3}',
            id="a number for a response",
        ),
        pytest.param(b"a: &a [x]\nb: [*a, *a, *a]", id="YAML with aliases"),
    ],
)
async def test_garbage_is_refused(serving: Any, body: bytes) -> None:
    async def garbage(request: http.Request) -> http.Response:
        return http.Response(200, JSON, body)

    async with hooked(serving, garbage) as api:
        refused = await api("POST", MAPS, config_map("a"))
        assert refused.status == 500
        assert 'failed calling webhook "w0.attack.example.com"' in refused.message
        assert (await api("GET", f"{MAPS}/a")).status == 404


@pytest.mark.parametrize(
    "response",
    [
        pytest.param({"uid": "another"}, id="of another request"),
        pytest.param({"allowed": "yes"}, id="allowed is text"),
        pytest.param({"patch": "!!", "patchType": "JSONPatch"}, id="patch is not base64"),
        pytest.param({"patch": "e30="}, id="patch without type"),
        pytest.param({"warnings": 7}, id="warnings are a number"),
        pytest.param({"status": "no"}, id="status is text"),
        pytest.param({"auditAnnotations": [1]}, id="annotations are a list"),
    ],
)
async def test_false_responses_do_not_break_the_server(serving: Any, response: Object) -> None:
    async def lie(request: http.Request) -> http.Response:
        return answer(await read(request), **response)

    async with hooked(serving, lie) as api:
        refused = await api("POST", MAPS, config_map("a"))
        assert refused.status >= 400, refused.body
        assert "see the log" not in refused.message, "it is the webhook's fault, not ours"
        assert (await api("GET", MAPS)).status == 200


async def test_webhooks_that_undo_each_other_end(serving: Any) -> None:
    asked: list[str] = []

    async def toggle(request: http.Request) -> http.Response:
        review = await read(request)
        asked.append(request.path)
        value = "left" if request.path == "/0" else "right"
        return patch(review, {"op": "add", "path": "/data/side", "value": value})

    async with hooked(serving, toggle, count=2, reinvocationPolicy="IfNeeded") as api:
        made = await api("POST", MAPS, config_map("a", x="y"))
        assert made.status == 201
        assert len(asked) <= 4, "everybody is asked once more at most"


async def test_object_that_grows_beyond_bounds_is_refused(serving: Any) -> None:
    async def grow(request: http.Request) -> http.Response:
        review = await read(request)
        start = {"op": "add", "path": "/data/x", "value": "x" * 1000}
        copies = [
            {"op": "add", "path": f"/data/k{number}", "value": "x" * 900} for number in range(9999)
        ]
        return patch(review, start, *copies)

    async with hooked(serving, grow) as api:
        refused = await api("POST", MAPS, config_map("a", b="c"))
        assert refused.status >= 400
        assert (await api("GET", f"{MAPS}/a")).status == 404


async def test_copying_patches_cannot_explode(serving: Any) -> None:
    async def explode(request: http.Request) -> http.Response:
        review = await read(request)
        doubling = [
            {"op": "copy", "from": "/data", "path": f"/data/d{number}"} for number in range(64)
        ]
        return patch(review, *doubling)

    async with hooked(serving, explode) as api:
        refused = await api("POST", MAPS, config_map("a", b="c"))
        assert refused.status >= 400
        assert (await api("GET", MAPS)).status == 200


async def test_answer_without_end_is_cut_off(serving: Any) -> None:
    async def pour(request: http.Request) -> http.Response:
        return http.Response(200, JSON, b" " * (9 * 1024 * 1024))

    async with hooked(serving, pour) as api:
        refused = await api("POST", MAPS, config_map("a"))
        assert refused.status == 500


async def test_patch_cannot_move_an_object_to_another_namespace(serving: Any) -> None:
    async def move(request: http.Request) -> http.Response:
        review = await read(request)
        return patch(
            review, {"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}
        )

    async with hooked(serving, move) as api:
        refused = await api("POST", MAPS, config_map("a"))
        assert refused.status == 400
        assert "namespace" in refused.message


async def test_unreadable_stored_configuration_is_skipped_and_reported(serving: Any) -> None:
    reported: list[str] = []
    async with serving() as api:
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(lambda _loop, context: reported.append(context["message"]))
        try:
            resource = "validatingwebhookconfigurations.admissionregistration.k8s.io"
            stored = b'{"metadata":{"name":"odd"},"webhooks":[{"name":"a"},3]}'
            await api.cluster.api.core.store.put(
                StoreKey(resource, "", "odd"), lambda _revision: stored, expected=0
            )
            assert (await api("POST", MAPS, config_map("a"))).status == 201
        finally:
            loop.set_exception_handler(before)
    assert any("'odd'; it has no effect" in each for each in reported)


async def test_warnings_fit_into_the_headers_of_an_answer(serving: Any) -> None:
    async def warn(request: http.Request) -> http.Response:
        return answer(await read(request), warnings=["w" * 3000, "x" * 3000, "y" * 3000] * 50)

    async with hooked(serving, warn) as api:
        made = await api("POST", MAPS, config_map("a"))
        assert made.status == 201
        assert sum(len(each) for each in made.headers.get_all("Warning")) < 8192
