"""Webhooks without a socket: questions in, answers out, whatever the handler does."""

import asyncio
import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta import field
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, Struct, replace, with_metadata
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.webhooks import Denied, Operation, Review, Webhooks
from quarterdeck.runtime.webhooks.envelope import MAX_BYTES, MalformedReviewError, decode
from quarterdeck.runtime.webhooks.hooks import Mutation, build_path
from quarterdeck.wire import json_patch
from quarterdeck.wire.status import Invalid


class BoxSpec(Struct, frozen=True, kw_only=True):
    size: int = 0
    color: str = ""


class Box(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="things.example.com", version="v1", kind="Box", plural="boxes")
    spec: BoxSpec = BoxSpec()


VALIDATE, MUTATE = "/validate-things-example-com-v1-box", "/mutate-things-example-com-v1-box"


def box(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "things.example.com/v1",
        "kind": "Box",
        "metadata": {"name": "b"},
        "spec": spec,
    }


def question(
    operation: str = "CREATE",
    obj: Any = None,
    old: Any = None,
    *,
    version: str = "admission.k8s.io/v1",
    **more: Any,
) -> bytes:
    request = {
        "uid": "u-1",
        "kind": {"group": "things.example.com", "version": "v1", "kind": "Box"},
        "resource": {"group": "things.example.com", "version": "v1", "resource": "boxes"},
        "name": "b",
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "ann", "groups": ["g"]},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }
    return json.encode({"kind": "AdmissionReview", "apiVersion": version, "request": request})


async def served(webhooks: Webhooks, metrics: Metrics | None = None) -> Webhooks:
    """Made ready on a socket nobody calls."""
    await webhooks.open(metrics or Metrics(), clock=SystemClock(), log=get_logger("test"))
    return webhooks


async def ask(
    webhooks: Webhooks, path: str, body: bytes, *, media: str = "application/json"
) -> dict[str, Any]:
    """The `response` of the answer."""
    request = http.Request.of("POST", path, headers=[("content-type", media)], body=body)
    answer = await webhooks.handle(request)
    assert answer.status == 200
    review = json.decode(answer.body)
    assert review["kind"] == "AdmissionReview"
    return dict(review["response"])


def small_only(review: Review[Box]) -> None:
    if review.operation is Operation.DELETE and review.object.spec.color == "red":
        raise Denied("red boxes stay")
    if review.old is not None and review.old.spec.color != review.object.spec.color:
        raise Denied("a box keeps its color")
    if review.object.spec.size > 10:
        raise Denied(f"spec.size: {review.object.spec.size} is more than 10")
    if review.object.spec.size > 5:
        review.warn(f"{review.user.username}, that is large")


def paint(review: Review[Box]) -> Box:
    if review.object.spec.color:
        return review.object
    return replace(review.object, spec=msgspec.structs.replace(review.object.spec, color="blue"))


OK = {"metadata": {}, "code": 200}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (question(obj=box(size=1)), {"allowed": True, "status": OK}),
        (
            question(obj=box(size=7)),
            {"allowed": True, "status": OK, "warnings": ["ann, that is large"]},
        ),
        (
            question(obj=box(size=11)),
            {
                "allowed": False,
                "status": {
                    "metadata": {},
                    "message": "spec.size: 11 is more than 10",
                    "reason": "Forbidden",
                    "code": 403,
                },
            },
        ),
        (
            question("UPDATE", box(color="red"), box(color="blue")),
            {
                "allowed": False,
                "status": {
                    "metadata": {},
                    "message": "a box keeps its color",
                    "reason": "Forbidden",
                    "code": 403,
                },
            },
        ),
        (
            question("DELETE", None, box(color="red")),
            {
                "allowed": False,
                "status": {
                    "metadata": {},
                    "message": "red boxes stay",
                    "reason": "Forbidden",
                    "code": 403,
                },
            },
        ),
        (question("CONNECT", {"kind": "Other"}), {"allowed": True, "status": OK}),
        (
            question("EAT", box()),
            {
                "allowed": False,
                "status": {"metadata": {}, "message": 'unknown operation "EAT"', "code": 400},
            },
        ),
        (
            question("UPDATE", box()),
            {
                "allowed": False,
                "status": {
                    "metadata": {},
                    "message": "request.oldObject: Required value",
                    "code": 400,
                },
            },
        ),
    ],
)
async def test_a_validator_allows_or_denies_with_its_message(
    body: bytes, expected: dict[str, Any]
) -> None:
    webhooks = Webhooks()
    webhooks.validate(Box, small_only)
    await served(webhooks)
    assert await ask(webhooks, VALIDATE, body) == {"uid": "u-1", **expected}
    await webhooks.close()


async def test_an_api_error_keeps_its_status() -> None:
    async def check(review: Review[Box]) -> None:
        review.warn("look")
        problem = field.invalid("spec.size", review.object.spec.size, "too much")
        raise Invalid.of(Box.KIND.kind, review.object.metadata.name, [problem], group="g")

    webhooks = Webhooks()
    webhooks.validate(Box, check)
    await served(webhooks)
    answer = await ask(webhooks, VALIDATE, question(obj=box(size=3)))
    assert answer["allowed"] is False
    assert answer["warnings"] == ["look"]
    status = answer["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.size"
    assert "apiVersion" not in status
    await webhooks.close()


async def test_a_change_becomes_a_patch_that_leaves_the_unknown_alone() -> None:
    webhooks = Webhooks()
    webhooks.mutate(Box, paint)
    await served(webhooks)
    original = {**box(size=1, later={"x": [1]}), "extra": 1}
    answer = await ask(webhooks, MUTATE, question(obj=original))
    assert answer["patchType"] == "JSONPatch"
    patch = json.decode(base64.b64decode(answer["patch"]))
    assert patch == [{"op": "add", "path": "/spec/color", "value": "blue"}]
    unchanged = await ask(webhooks, MUTATE, question(obj=box(color="red")))
    assert unchanged == {"uid": "u-1", "allowed": True, "status": OK}
    deleted = await ask(webhooks, MUTATE, question("DELETE", None, box()))
    assert deleted == {"uid": "u-1", "allowed": True, "status": OK}
    await webhooks.close()


labels = st.dictionaries(st.text("ab~/", min_size=1, max_size=3), st.text("xy", max_size=2))


@given(
    size=st.integers(0, 9), before=labels, after=labels, unknown=st.dictionaries(st.text(), labels)
)
def test_what_a_patch_makes_is_what_the_handler_returned(
    size: int, before: dict[str, str], after: dict[str, str], unknown: dict[str, Any]
) -> None:
    def relabel(review: Review[Box]) -> Box:
        changed = with_metadata(review.object, labels=after)
        return replace(changed, spec=BoxSpec(size=size))

    original = {**box(size=3, color="red"), "unknown": unknown}
    original["metadata"]["labels"] = before
    asked, _ = decode(question(obj=original))
    answer = asyncio.run(Mutation(Box, relabel).handle(asked))
    patch = json.decode(base64.b64decode(answer.get("patch", "W10=")))
    patched = json_patch.apply(original, json_patch.parse(patch))
    assert patched["unknown"] == unknown
    assert patched["metadata"].get("labels", {}) == after
    assert patched["spec"].get("size", 0) == size
    assert "color" not in patched["spec"]


async def test_a_broken_handler_is_refused_counted_and_says_nothing_it_should_not() -> None:
    def broken(review: Review[Box]) -> Box:
        raise KeyError("s3cret")

    async def forgetful(review: Review[Box]) -> Box:
        return None  # type: ignore[return-value]

    metrics = Metrics()
    webhooks = Webhooks()
    webhooks.mutate(Box, broken)
    webhooks.mutate(Box, forgetful, path="/forgetful")
    await served(webhooks, metrics)
    for path, name in ((MUTATE, "KeyError"), ("/forgetful", "TypeError")):
        answer = await ask(webhooks, path, question(obj=box()))
        assert answer["uid"] == "u-1"
        assert answer["allowed"] is False
        assert answer["status"]["code"] == 500
        assert name in answer["status"]["message"]
        assert "s3cret" not in answer["status"]["message"]
    value = metrics.registry.get_value
    assert value("controller_runtime_webhook_panics_total") == 2
    assert value("controller_runtime_webhook_requests_total", MUTATE, "200") == 1
    assert value("controller_runtime_webhook_requests_in_flight", MUTATE) == 0
    page = metrics.registry.render().decode()
    assert f'requests_total{{webhook="{MUTATE}",code="500"}} 0' in page
    assert f'latency_seconds_count{{webhook="{MUTATE}"}} 1' in page
    await webhooks.close()


@pytest.mark.parametrize(
    ("body", "media", "code", "message"),
    [
        (b"", "application/json", 400, "request body is empty"),
        (b"{}", "text/plain", 400, "contentType=text/plain, expected application/json"),
        (b"{", "application/json", 400, "not an AdmissionReview"),
        (b"[" * 100_000, "application/json", 400, "not an AdmissionReview"),
        (b'{"kind":"Pod"}', "application/json", 400, "got apiVersion '', kind 'Pod'"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
            "application/json",
            400,
            "request: Required value",
        ),
        (b" " * (MAX_BYTES + 1), "application/json", 413, f"limit is {MAX_BYTES} bytes"),
        (question(obj={"kind": "Pod"}), "application/json", 400, "request.object: Box"),
        (question(obj=box(size="x")), "application/json", 400, "$.spec.size"),
        (question(), "application/json", 400, "request.object: Required value"),
    ],
)
async def test_malformed_reviews_are_answered_with_an_error(
    body: bytes, media: str, code: int, message: str
) -> None:
    webhooks = Webhooks()
    webhooks.validate(Box, small_only)
    await served(webhooks)
    answer = await ask(webhooks, VALIDATE, body, media=media)
    assert (answer["allowed"], answer["status"]["code"]) == (False, code)
    assert message in answer["status"]["message"]
    await webhooks.close()


@given(st.binary())
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(MalformedReviewError):
        decode(body)


async def test_a_review_is_answered_in_its_version() -> None:
    webhooks = Webhooks()
    webhooks.validate(Box, small_only)
    await served(webhooks)
    body = question(obj=box(), version="admission.k8s.io/v1beta1")
    headers = [("content-type", "application/json")]
    request = http.Request.of("POST", VALIDATE, headers=headers, body=body)
    answer = json.decode((await webhooks.handle(request)).body)
    assert answer["apiVersion"] == "admission.k8s.io/v1beta1"
    unknown = http.Request.of("POST", "/other")
    assert (await webhooks.handle(unknown)).status == 404
    await webhooks.close()


def test_paths_are_those_of_controller_runtime_and_unique() -> None:
    core = KindInfo(group="", version="v1", kind="Pod", plural="pods")
    assert build_path("validate", core) == "/validate--v1-pod"
    webhooks = Webhooks()
    assert webhooks.validate(Box, small_only) == VALIDATE
    assert webhooks.mutate(Box, paint) == MUTATE
    assert webhooks.paths == (VALIDATE, MUTATE)
    with pytest.raises(ValueError, match="used by two webhooks"):
        webhooks.validate(Box, small_only)
    with pytest.raises(ValueError, match="must start with /"):
        webhooks.validate(Box, small_only, path="x")


def test_handlers_are_tested_with_reviews_made_by_hand() -> None:
    small, large = Box(spec=BoxSpec(size=1)), Box(spec=BoxSpec(size=7, color="red"))
    review = Review.of(large, user="ann", dry_run=True)
    small_only(review)
    assert review.operation is Operation.CREATE
    assert review.is_dry_run
    assert review.subresource == ""
    assert review.warnings == ["ann, that is large"]
    with pytest.raises(Denied, match="keeps its color"):
        small_only(Review.of(large, old=small))
    with pytest.raises(Denied, match="red boxes stay"):
        small_only(Review.of(large, operation=Operation.DELETE))
    assert paint(Review.of(small)).spec.color == "blue"


async def test_malformed_object_is_left_to_the_schema_where_asked() -> None:
    webhooks = Webhooks()
    webhooks.mutate(Box, paint)
    webhooks.mutate(Box, paint, path="/defaults", leave_malformed=True)
    await served(webhooks)
    try:
        malformed = question(obj=box(size="wide"))
        assert not (await ask(webhooks, MUTATE, malformed))["allowed"]
        answer = await ask(webhooks, "/defaults", malformed)
        assert answer["allowed"] and "patch" not in answer
        assert "patch" in await ask(webhooks, "/defaults", question(obj=box()))
    finally:
        await webhooks.close()
