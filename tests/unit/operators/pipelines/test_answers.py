"""Answers of a server, and of whatever stands before it."""

from datetime import UTC, datetime

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import http
from quarterdeck.operators.pipelines.drivers.answers import read_answer, read_pipeline
from quarterdeck.operators.pipelines.ports import CallFailed
from quarterdeck.telemetry.fleet.codes import Code

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def headers(content_type: str = "application/json", **more: str) -> http.Headers:
    fields = [("content-type", content_type)]
    return http.Headers([*fields, *((k.replace("_", "-"), v) for k, v in more.items())])


def failure(status: int, fields: http.Headers, body: bytes) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        read_answer(status, fields, body, now=NOW)
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        pytest.param(404, b'{"code":"not_found"}', Code.NOT_FOUND, id="the server's own 404"),
        pytest.param(404, b"<html>", Code.UNIMPLEMENTED, id="a 404 that is no JSON"),
        pytest.param(404, b'{"error":"no route"}', Code.UNIMPLEMENTED, id="JSON of a gateway"),
        pytest.param(400, b'{"code":"failed_precondition"}', Code.FAILED_PRECONDITION, id="code"),
        pytest.param(412, b'{"code":"failed_precondition"}', Code.FAILED_PRECONDITION, id="412"),
        pytest.param(400, b"", Code.INTERNAL, id="a bare 400"),
        pytest.param(401, b"", Code.UNAUTHENTICATED, id="a bare 401"),
        pytest.param(403, b"", Code.PERMISSION_DENIED, id="a bare 403"),
        pytest.param(429, b"", Code.RESOURCE_EXHAUSTED, id="a bare 429"),
        pytest.param(502, b"", Code.UNAVAILABLE, id="a bare 502"),
        pytest.param(500, b'{"code":"weird"}', Code.UNKNOWN, id="a code of tomorrow"),
        pytest.param(200, b"[]", Code.UNAVAILABLE, id="not an object"),
        pytest.param(200, b"{", Code.UNAVAILABLE, id="cut off"),
        pytest.param(301, b"", Code.UNKNOWN, id="a redirect is not followed"),
    ],
)
def test_the_code_decides(status: int, body: bytes, code: Code) -> None:
    assert failure(status, headers(), body).code is code


def test_a_page_with_status_200_is_a_failure() -> None:
    assert failure(200, headers("text/html"), b"<html>").code is Code.UNAVAILABLE


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        pytest.param("7", 7.0, id="seconds"),
        pytest.param("Thu, 01 Jan 2026 00:00:30 GMT", 30.0, id="a date"),
        pytest.param("Wed, 31 Dec 2025 00:00:00 GMT", 0.0, id="a date that is over"),
        pytest.param("soon", None, id="nonsense"),
        pytest.param("99999999999", 3600.0, id="bounded"),
        pytest.param("9" * 5000, 3600.0, id="more digits than Python reads"),
        pytest.param("Thu, 01 Jan 2099 00:00:30 GMT", 3600.0, id="a date far away"),
    ],
)
def test_retry_after_is_read(field: str, seconds: float | None) -> None:
    body = b'{"code":"resource_exhausted"}'
    assert failure(429, headers(retry_after=field), body).retry_after_s == seconds


def test_retry_info_is_read() -> None:
    body = (
        b'{"code":"resource_exhausted","details":['
        b'{"type":"google.rpc.Other","value":"CgA"},'
        b'{"type":"google.rpc.RetryInfo","value":"CgcIAhCAyrXuAQ"}]}'
    )
    assert failure(429, headers(), body).retry_after_s == pytest.approx(2.5)


def test_a_message_that_repeats_credentials_is_masked() -> None:
    body = b'{"code":"internal","message":"sent Authorization: Basic dXNlcjpwYXNz"}'
    assert "dXNlcjpwYXNz" not in str(failure(500, headers(), body))


def test_a_pipeline_of_tomorrow_is_read() -> None:
    remote = read_pipeline(
        {
            "id": "1",
            "name": "x",
            "configType": "CONFIG_TYPE_NEW",
            "source": {"type": "SOURCE_TYPE_NEW"},
            "unknown": {"a": 1},
        }
    )
    assert remote.enabled
    assert remote.config_type == "CONFIG_TYPE_ALLOY"
    assert remote.source_type == "SOURCE_TYPE_NEW"


@given(
    status=st.integers(100, 599),
    body=st.binary(max_size=200),
    media=st.sampled_from(["", "application/json", "text/html"]),
)
@settings(max_examples=count_examples(200))
def test_no_answer_breaks_the_reader(status: int, body: bytes, media: str) -> None:
    try:
        assert isinstance(read_answer(status, headers(media), body, now=NOW), dict)
    except CallFailed as error:
        assert error.code is not Code.NOT_FOUND or b"not_found" in body


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        pytest.param([], "a pipeline is not an object", id="a list"),
        pytest.param({"name": "web"}, "its id has 0 characters", id="no id"),
        pytest.param({"id": "x" * 300}, "its id has 300 characters", id="long id"),
        pytest.param({"id": "1", "name": 5}, "name is a int, expected a string", id="name"),
        pytest.param(
            {"id": "1", "matchers": ["a=b", 5]}, "matchers is not a list of strings", id="matchers"
        ),
    ],
)
def test_pipelines_of_another_shape_are_refused(message: object, problem: str) -> None:
    with pytest.raises(CallFailed, match=problem) as caught:
        read_pipeline(message)
    assert caught.value.code is Code.INTERNAL


def test_a_delay_that_is_not_base64_is_ignored() -> None:
    detail = b'{"type":"google.rpc.RetryInfo","value":"a"}'
    body = b'{"code":"unavailable","message":"busy","details":[%s]}' % detail
    assert failure(503, headers(), body).retry_after_s is None
