import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.meta import field
from quarterdeck.wire import status
from quarterdeck.wire.status import ApiError, Conflict, Forbidden, Invalid, NotFound

GOLDEN = Path(__file__).parents[2] / "golden" / "kube-apiserver-v1.32.4.jsonl"


def recorded_errors() -> list[Any]:
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [
        pytest.param(line["body"], id=line["title"])
        for line in lines
        if isinstance(line["body"], dict)
        and line["body"].get("kind") == "Status"
        and line["body"]["status"] == "Failure"
    ]


@pytest.mark.parametrize("body", recorded_errors())
def test_recorded_errors_survive_decode_and_encode(body: dict[str, Any]) -> None:
    error = status.from_status(body)
    assert error.to_status() == body
    assert json.loads(error.encode()) == body
    assert type(error).reason == body.get("reason", type(error).reason)


def test_errors_are_worded_as_kubernetes_words_them() -> None:
    missing = NotFound.of("widgets", "a", group="stable.example.com")
    assert missing.message == 'widgets.stable.example.com "a" not found'
    stale = Conflict.of("pods", "a", "the object has been modified")
    assert (
        stale.message == 'Operation cannot be fulfilled on pods "a": the object has been modified'
    )
    assert Forbidden.of("pods", "", "no").message == "pods is forbidden: no"


def test_several_field_errors_are_listed_in_brackets_with_a_cause_each() -> None:
    error = Invalid.of(
        "Widget",
        "w",
        [field.required("spec.size"), field.invalid("spec.color", "x", "must be red")],
        group="example.com",
    )
    assert error.message == (
        'Widget.example.com "w" is invalid: [spec.size: Required value, '
        'spec.color: Invalid value: "x": must be red]'
    )
    assert error.details is not None
    assert [cause.field for cause in error.details.causes] == ["spec.size", "spec.color"]


def test_an_unknown_reason_falls_back_to_the_code_and_is_kept() -> None:
    error = status.from_status({"code": 404, "reason": "Odd", "message": "m"})
    assert isinstance(error, NotFound)
    assert error.to_status()["reason"] == "Odd"


def test_a_page_of_a_proxy_becomes_an_error_with_its_first_words() -> None:
    error = status.from_response(503, b"<html>" + b"x" * 1000)
    assert isinstance(error, status.ServiceUnavailable)
    assert len(error.message) <= 256
    assert isinstance(status.from_response(418, b""), ApiError)


def test_retry_after_is_read_from_the_details() -> None:
    error = status.TooManyRequests("slow down", retry_after_s=7)
    assert status.from_status(error.to_status()).retry_after_s == 7
