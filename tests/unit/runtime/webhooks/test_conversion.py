"""Conversion reviews without a socket: malformed ones, unknown kinds and broken functions."""

from typing import Any

import pytest

from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.webhooks import Spoke, Webhooks
from quarterdeck.runtime.webhooks.conversion import (
    PATH,
    Conversion,
    ConversionHook,
    MalformedConversionError,
)

GROUP = "example.com"


class LampV2(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group=GROUP, version="v2", kind="Lamp", plural="lamps")
    watts: int = 0


class LampV1(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group=GROUP, version="v1", kind="Lamp", plural="lamps")
    power: str = ""


def to_hub(lamp: LampV1) -> LampV2:
    return LampV2(metadata=lamp.metadata, watts=int(lamp.power.removesuffix("W")))


def from_hub(lamp: LampV2) -> LampV1:
    return LampV1(metadata=lamp.metadata, power=f"{lamp.watts}W")


SPOKE = Spoke(LampV1, to_hub, from_hub)


def lamp(version: str, **members: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Lamp",
        "metadata": {"name": "a", "uid": "u"},
        **members,
    }


def review(*objects: Any, desired: str = f"{GROUP}/v2", **more: Any) -> bytes:
    request = {"uid": "u-1", "desiredAPIVersion": desired, "objects": list(objects)}
    document = {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": request,
    }
    return json.encode({**document, **more})


def answer(body: bytes) -> dict[str, Any]:
    hook = ConversionHook()
    hook.add(Conversion(LampV2, [SPOKE]))
    response = json.decode(hook.handle(body))["response"]
    assert response["uid"] == "u-1"
    return dict(response)


def test_all_objects_of_a_review_are_converted_and_those_of_the_version_stay() -> None:
    same = lamp("v2", watts=7, unknown="stays")
    response = answer(review(lamp("v1", power="60W"), same))
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [lamp("v2", watts=60), same]


@pytest.mark.parametrize(
    ("value", "desired", "message"),
    [
        (lamp("v1", power="bright"), "v2", "Lamp 'a': invalid literal for int()"),
        (lamp("v1", power=5), "v2", "Lamp of v1: "),
        (lamp("v3"), "v2", "Lamp has no version 'v3': must be one of v2, v1"),
        (lamp("v1", power="1W"), "v9", "Lamp has no version 'v9': must be one of v2, v1"),
        ("text", "v2", "request.objects: every item must be an object"),
        (
            {"apiVersion": "v1", "kind": "Pod"},
            "v2",
            "no conversion is registered for Pod of v1",
        ),
    ],
)
def test_an_object_that_cannot_be_converted_is_explained(
    value: Any, desired: str, message: str
) -> None:
    response = answer(review(value, desired=f"{GROUP}/{desired}"))
    assert response["result"]["status"] == "Failure"
    assert message in response["result"]["message"]
    assert "convertedObjects" not in response


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "request body is empty"),
        (b"{", "not a ConversionReview"),
        (b"[" * 100_000, "not a ConversionReview: nested too deeply"),
        (b"[]", "expected kind ConversionReview"),
        (b'{"kind":"AdmissionReview"}', "expected kind ConversionReview"),
        (review(apiVersion="v3"), "expected apiVersion apiextensions.k8s.io/v1 or .*; got 'v3'"),
        (review(request=None), "request: Required value"),
    ],
)
async def test_what_is_no_review_is_a_bad_request(body: bytes, message: str) -> None:
    with pytest.raises(MalformedConversionError, match=message):
        answer(body)
    webhooks = Webhooks()
    webhooks.convert(LampV2, SPOKE)
    assert (await webhooks.handle(http.Request.of("POST", PATH, body=body))).status == 400


def test_versions_and_kinds_are_declared_once() -> None:
    with pytest.raises(ValueError, match="version v1 of Lamp is declared twice"):
        Conversion(LampV2, [SPOKE, SPOKE])
    hub: Any = Spoke(LampV2, lambda lamp: lamp, lambda lamp: lamp)
    with pytest.raises(ValueError, match="version v2 of Lamp is declared twice"):
        Conversion(LampV2, [hub])
    webhooks = Webhooks()
    assert webhooks.convert(LampV2, SPOKE) == PATH
    with pytest.raises(ValueError, match=r"conversions of Lamp.example.com were added twice"):
        webhooks.convert(LampV2, SPOKE)


async def test_a_broken_function_is_logged_and_its_message_is_not_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(lamp: LampV1) -> LampV2:
        raise KeyError("s3cret")

    webhooks = Webhooks()
    webhooks.convert(LampV2, Spoke(LampV1, fail, from_hub))

    async def ask() -> http.Response:
        return await webhooks.handle(http.Request.of("POST", PATH, body=review(lamp("v1"))))

    assert (await ask()).status == 500, "before it is served, too"
    await webhooks.open(Metrics(), clock=SystemClock(), log=get_logger("test"))
    try:
        with pytest.raises(ValueError, match="cannot add a webhook while webhooks are served"):
            webhooks.convert(LampV2, SPOKE)
        failed = await ask()
        assert failed.status == 500
        assert failed.body == b"conversion failed with KeyError: see the log of the operator"
        assert "conversion failed" in [record.getMessage() for record in caplog.records]
    finally:
        await webhooks.close()
