"""What a hostile or broken client can send: always a Status, never a traceback or a dead server."""

import asyncio
import json
from typing import Any

import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "unexpected end of JSON input", id="empty"),
        pytest.param(b"{", "unexpected end of JSON input", id="cut"),
        pytest.param(b"{bad", "invalid character 'b'", id="no quotes"),
        pytest.param(b'{"a":1,}', "invalid character '}'", id="trailing comma"),
        pytest.param(b'{"a":tru}', "in literal true", id="half a word"),
        pytest.param(b'{"a":"\x01"}', "in string literal", id="control character"),
        pytest.param(b'{"a":01}', "after object key:value pair", id="leading zero"),
        pytest.param(b"{} {}", "after top-level value", id="two values"),
        pytest.param(b"[]", "cannot unmarshal array", id="a list"),
        pytest.param(b'"x"', "cannot unmarshal string", id="a string"),
        pytest.param(b'{"metadata":[]}', "metadata", id="metadata is a list"),
        pytest.param(b'{"metadata":{"name":5}}', "name", id="name is a number"),
        pytest.param(b'{"metadata":{"labels":{"a":1}}}', "labels", id="label is a number"),
        pytest.param(b'{"metadata":{"ownerReferences":[1]}}', "owner", id="owner is a number"),
        pytest.param(b'{"metadata":{"finalizers":"x"}}', "finalizers", id="finalizers is a text"),
        pytest.param(b'{"kind":"Secret","apiVersion":"v1"}', "Secret", id="another kind"),
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v2"}', "v2", id="another version"),
        pytest.param(b'{"kind":1,"apiVersion":[]}', "", id="kind is a number"),
        pytest.param(b'{"metadata":{"name":"\xff"}}', "", id="not UTF-8"),
        pytest.param(b"[" * 100_000, "", id="deep list"),
        pytest.param(b'{"a":' * 100_000, "", id="deep object"),
    ],
)
async def test_bad_body_is_a_bad_request(serving: Any, body: bytes, text: str) -> None:
    async with serving() as api:
        answer = await api("POST", MAPS, body)
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest"), answer
        assert text.lower() in answer.message.lower()
        assert (await api("GET", MAPS)).status == 200


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        pytest.param(b"{", MERGE, 400, id="merge patch cut"),
        pytest.param(b"[]", MERGE, 400, id="merge patch list"),
        pytest.param(b"{}", JSON_PATCH, 400, id="json patch object"),
        pytest.param(b'[{"op":"fly"}]', JSON_PATCH, 422, id="json patch unknown op"),
        pytest.param(b'[{"op":"remove","path":"/nope"}]', JSON_PATCH, 422, id="json patch path"),
        pytest.param(
            b'[{"op":"replace","path":"","value":[]}]', JSON_PATCH, 422, id="not an object"
        ),
        pytest.param(b'[{"op":"remove","path":"/metadata"}]', JSON_PATCH, 400, id="no metadata"),
        pytest.param(b'{"metadata":null}', MERGE, 400, id="null metadata"),
        pytest.param(b'{"metadata":{"name":"b"}}', MERGE, 400, id="another name"),
        pytest.param(b'{"kind":"Secret"}', MERGE, 422, id="another kind"),
        pytest.param(b'{"data":5}', MERGE, 422, id="wrong type"),
        pytest.param(b"a: [", APPLY, 400, id="apply of broken YAML"),
        pytest.param(b"- a", APPLY, 400, id="apply of a list"),
        pytest.param(b"kind: ConfigMap", APPLY, 400, id="apply without version"),
        pytest.param(b"x", "text/plain", 415, id="media type"),
    ],
)
async def test_bad_patch_is_refused(serving: Any, body: bytes, media: str, status: int) -> None:
    async with serving() as api:
        await api.make("a")
        answer = await api("PATCH", f"{MAPS}/a?fieldManager=t", body, media=media)
        assert answer.status == status, answer


async def test_body_over_the_limit_is_too_large(serving: Any) -> None:
    async with serving() as api:
        answer = await api("POST", MAPS, b"x" * (3 * 1024 * 1024 + 1))
        assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


async def test_too_many_operations_are_too_large(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        patch = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001
        answer = await api("PATCH", f"{MAPS}/a", patch, media=JSON_PATCH)
        assert answer.status == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/nope", 404, id="unknown path"),
        pytest.param("GET", "/apis/nope/v1/x", 404, id="unknown group"),
        pytest.param("GET", "/api/v1/nopes", 404, id="unknown resource"),
        pytest.param("GET", f"{MAPS}/a/nope", 404, id="unknown subresource"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="cluster-scoped in one"),
        pytest.param("POST", "/api/v1/configmaps", 405, id="create without namespace"),
        pytest.param("PUT", MAPS, 405, id="put of a collection"),
        pytest.param("PATCH", MAPS, 405, id="patch of a collection"),
        pytest.param("OPTIONS", MAPS, 405, id="options"),
        pytest.param("DELETE", "/version", 404, id="delete of the version"),
        pytest.param("GET", f"{MAPS}/{'x' * 5000}", 404, id="long name"),
        pytest.param("GET", f"{MAPS}/%00%ff", 400, id="bytes for a name"),
        pytest.param("GET", f"{MAPS}/..%2f..%2fsecrets", 404, id="path escape"),
        pytest.param("GET", "//api//v1//namespaces//default//configmaps", 200, id="slashes"),
        pytest.param("GET", "/api/v1/", 200, id="trailing slash"),
    ],
)
async def test_unknown_paths_and_methods_get_their_status(
    serving: Any, method: str, path: str, status: int
) -> None:
    async with serving() as api:
        assert (await api(method, path)).status == status


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="cut"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"gracePeriodSeconds":"x"}', id="grace is a text"),
        pytest.param(b'{"preconditions":5}', id="preconditions is a number"),
    ],
)
async def test_bad_delete_options_are_refused(serving: Any, body: bytes) -> None:
    async with serving() as api:
        await api.make("a")
        assert (await api("DELETE", f"{MAPS}/a", body)).status == 500
        assert (await api("GET", f"{MAPS}/a")).status == 200


async def test_two_propagation_policies_are_refused(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        body = {"propagationPolicy": "Orphan", "orphanDependents": True}
        assert (await api("DELETE", f"{MAPS}/a", body)).status == 422


async def test_head_has_no_body(serving: Any) -> None:
    async with serving() as api:
        answer = await api("HEAD", MAPS)
        assert (answer.status, answer.body) == (405, b"")


async def test_client_that_leaves_in_the_middle_of_a_body_harms_nobody(serving: Any) -> None:
    async with serving() as api:
        host, _, port = api.cluster.url.removeprefix("http://").partition(":")
        for _ in range(20):
            reader, writer = await asyncio.open_connection(host, int(port))
            head = f"POST {MAPS} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000\r\n\r\n"
            writer.write(head.encode() + b'{"metadata"')
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            assert reader is not None
        assert (await api.make("a")).status == 201


async def test_half_closed_connection_still_gets_its_answer(serving: Any) -> None:
    async with serving() as api:
        host, _, port = api.cluster.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        request = f"GET /version HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        writer.write_eof()
        assert b"gitVersion" in await reader.read()
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        pytest.param({"origin": "https://evil.example"}, "Origin", id="foreign page"),
        pytest.param({"sec_fetch_site": "cross-site"}, "Sec-Fetch-Site", id="other site"),
    ],
)
async def test_plain_port_refuses_web_pages(serving: Any, headers: Any, word: str) -> None:
    async with serving() as api:
        answer = await api("GET", "/api/v1/secrets", **headers)
        assert answer.status == 403
        assert word in answer.message


async def test_plain_port_answers_to_loopback_names_only(serving: Any) -> None:
    async with serving() as api:
        host, _, port = api.cluster.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /version HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"evil.example" in answer
        writer.close()
        await writer.wait_closed()


async def test_an_unknown_token_is_unauthorized(serving: Any) -> None:
    async with serving() as api:
        answer = await api("GET", MAPS, authorization="Bearer nope")
        assert (answer.status, answer.message) == (401, "Unauthorized")


async def test_strict_validation_names_unknown_and_duplicate_fields(serving: Any) -> None:
    async with serving() as api:
        body = b'{"metadata":{"name":"a"},"dota":{},"data":{"x":"1"},"data":{"x":"2"}}'
        strict = await api("POST", f"{MAPS}?fieldValidation=Strict", body)
        assert strict.status == 400
        assert 'unknown field "dota"' in strict.message
        assert 'duplicate field "data"' in strict.message
        warned = await api("POST", MAPS, body)
        assert warned.status == 201
        assert len(warned.headers.get_all("warning")) == 2
        odd = await api("POST", f"{MAPS}?fieldValidation=Odd", {"metadata": {"name": "b"}})
        assert odd.status == 422


async def test_thousand_bad_requests_leave_the_server_well(serving: Any) -> None:
    async with serving() as api:
        bodies = [b"{", b"[]", b"null", json.dumps({"metadata": {"name": "A B"}}).encode()]
        for number in range(250):
            for body in bodies:
                assert (await api("POST", MAPS, body)).status in (400, 422)
            assert number >= 0
        ready = await api("GET", "/readyz?verbose")
        assert ready.status == 200


async def test_impersonation_takes_rights_away(serving: Any) -> None:
    async with serving() as api:
        answer = await api("GET", MAPS, impersonate_user="alice", impersonate_group="devs")
        assert answer.status == 403
        assert 'User "alice" cannot list resource "configmaps"' in answer.message
        assert (await api("GET", MAPS, impersonate_group="devs")).status == 500
        review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        mirror = await api("POST", review, {}, impersonate_user="system:serviceaccount:a:b")
        assert mirror.body["status"]["userInfo"] == {
            "username": "system:serviceaccount:a:b",
            "groups": [
                "system:serviceaccounts",
                "system:serviceaccounts:a",
                "system:authenticated",
            ],
        }
        master = await api("GET", MAPS, impersonate_user="root", impersonate_group="system:masters")
        assert master.status == 200


async def test_an_impersonated_anonymous_user_keeps_the_groups_of_the_headers(
    serving: Any,
) -> None:
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with serving() as api:
        refused = await api("POST", review, {}, impersonate_user="system:anonymous")
        assert refused.status == 403
        answer = await api(
            "POST",
            review,
            {},
            impersonate_user="system:anonymous",
            impersonate_group="system:masters",
            impersonate_uid="7",
            impersonate_extra_scopes="all",
        )
    assert answer.body["status"]["userInfo"] == {
        "username": "system:anonymous",
        "uid": "7",
        "groups": ["system:masters", "system:unauthenticated"],
        "extra": {"scopes": ["all"]},
    }


DIGITS = "9" * 5000
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


def container(**amounts: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": amounts}}]}
    return {**POD, "spec": spec}


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        pytest.param(f"limit={DIGITS}", 400, "value out of range", id="limit"),
        pytest.param(f"timeoutSeconds={DIGITS}", 400, "value out of range", id="timeout"),
        pytest.param(f"resourceVersion={DIGITS}", 500, "value out of range", id="version"),
        pytest.param("resourceVersion=18446744073709551616", 500, "out of range", id="too large"),
        pytest.param(f"watch=1&resourceVersion={DIGITS}", 500, "out of range", id="watch"),
    ],
)
async def test_numbers_of_thousands_of_digits_are_out_of_range(
    serving: Any, query: str, code: int, text: str
) -> None:
    async with serving() as api:
        answer = await api("GET", f"{MAPS}?{query}")
        assert answer.status == code
        assert text in answer.message
        assert "see its log" not in answer.message


async def test_long_numbers_in_objects_are_read_or_refused(serving: Any) -> None:
    pods = "/api/v1/namespaces/default/pods"
    async with serving() as api:
        exponent = await api("POST", pods, json.dumps(container(cpu=f"1e{DIGITS}")).encode())
        assert exponent.status in (400, 422), exponent
        await api.make("a")
        for path in (f"/metadata/finalizers/{DIGITS}", "/metadata/finalizers/1"):
            patch = [
                {"op": "add", "path": "/metadata/finalizers", "value": []},
                {"op": "add", "path": path, "value": "a.b/c"},
            ]
            answer = await api("PATCH", f"{MAPS}/a", json.dumps(patch).encode(), media=JSON_PATCH)
            assert answer.status == 422, answer
