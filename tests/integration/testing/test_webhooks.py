"""Webhooks that tests play themselves."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quarterdeck.client import Client
from quarterdeck.meta.identity import GVR
from quarterdeck.testing import AdmissionWebhook, WebhookSettings
from quarterdeck.wire.status import ApiError, Forbidden

MAPS = GVR("", "v1", "configmaps")
HOOKS = GVR("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
Object = dict[str, Any]


def config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def test_text_refuses_and_nothing_allows(client: Client, namespace: str) -> None:
    def decide(request: Object) -> str | None:
        return "frozen" if request["name"] == "a" else None

    maps = client.resource(MAPS)
    async with AdmissionWebhook(client, "configmaps", decide) as webhook:
        with pytest.raises(Forbidden, match="frozen"):
            await maps.create(config_map("a"), namespace)
        await maps.create(config_map("b"), namespace)
        assert [each["name"] for each in webhook.requests] == ["a", "b"]
    await maps.create(config_map("a"), namespace)
    assert await client.resource(HOOKS).list() == []


async def test_operations_change_the_object(client: Client, namespace: str) -> None:
    async def label(request: Object) -> list[Object]:
        await asyncio.sleep(0)
        return [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]

    settings = WebhookSettings(
        mutating=True, match_conditions=(("named", "object.metadata.name == 'a'"),)
    )
    async with AdmissionWebhook(client, ["configmaps"], label, settings):
        made = await client.resource(MAPS).create(config_map("a"), namespace)
        assert made["metadata"]["labels"] == {"seen": "yes"}
        other = await client.resource(MAPS).create(config_map("b"), namespace)
        assert "labels" not in other["metadata"]


@pytest.mark.parametrize("ignores_failures", [True, False])
async def test_a_webhook_that_never_answers_times_out(
    client: Client, namespace: str, *, ignores_failures: bool
) -> None:
    async def hang(request: Object) -> None:
        await asyncio.Event().wait()

    settings = WebhookSettings(timeout_s=1, ignores_failures=ignores_failures)
    maps = client.resource(MAPS)
    async with AdmissionWebhook(client, "configmaps", hang, settings):
        if ignores_failures:
            await maps.create(config_map("a"), namespace)
            return
        with pytest.raises(ApiError, match="failed calling webhook"):
            await maps.create(config_map("a"), namespace)


async def test_subresources_of_groups_are_named_as_kubectl_does(
    client: Client, namespace: str
) -> None:
    deployments = client.resource(GVR("apps", "v1", "deployments"))
    labels = {"app": "a"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }
    value = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": spec,
    }
    async with AdmissionWebhook(client, "deployments.apps/status", lambda request: None) as webhook:
        made = await deployments.create(value, namespace)
        assert webhook.requests == []
        made["status"] = {"observedGeneration": 1}
        await deployments.subresource("status").update(made)
        assert [each["subResource"] for each in webhook.requests] == ["status"]


async def test_a_webhook_is_asked_again_after_another_one_changed_the_object(
    client: Client, namespace: str
) -> None:
    def add_label(name: str) -> Callable[[Object], list[Object]]:
        def decide(request: Object) -> list[Object]:
            labels = request["object"]["metadata"].get("labels", {}) | {name: "yes"}
            return [{"op": "add", "path": "/metadata/labels", "value": labels}]

        return decide

    again = WebhookSettings(mutating=True, reinvoked=True)
    async with (
        AdmissionWebhook(client, "configmaps", add_label("a"), again, name="a") as first,
        AdmissionWebhook(
            client, "configmaps", add_label("b"), WebhookSettings(mutating=True), name="b"
        ) as second,
    ):
        made = await client.resource(MAPS).create(config_map("c"), namespace)
        assert made["metadata"]["labels"] == {"a": "yes", "b": "yes"}
        assert (len(first.requests), len(second.requests)) == (2, 1)
        assert first.requests[1]["object"]["metadata"]["labels"] == {"a": "yes", "b": "yes"}


async def test_a_webhook_may_be_deleted_before_it_ends(client: Client, namespace: str) -> None:
    async with AdmissionWebhook(client, "configmaps", lambda request: "frozen", name="gone"):
        await client.resource(HOOKS).delete("gone")
        await client.resource(MAPS).create(config_map("a"), namespace)
