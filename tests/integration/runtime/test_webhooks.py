"""Webhooks of a manager over real sockets: trusted, served by every replica, closed gracefully."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.runtime import (
    BindAddress,
    CertificateFiles,
    Denied,
    LeaderElection,
    Manager,
    Review,
    Webhooks,
)
from quarterdeck.runtime.endpoints.certificate import CertificateError, generate_self_signed

PATH = "/validate--v1-configmap"


def no_secrets(review: Review[ConfigMap]) -> None:
    if "password" in review.object.data:
        raise Denied("data.password: a Secret is the place for it")


def question(**data: str) -> bytes:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}
    request = {"uid": "u", "operation": "CREATE", "object": manifest, "oldObject": None}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.encode(review)


async def ask(webhooks: Webhooks, body: bytes, trusted: bytes) -> dict[str, Any]:
    """Call as an API server does: over TLS that it verifies."""
    tls = ssl.create_default_context(cadata=trusted.decode())
    async with http.Client(tls=tls) as client:
        headers = [("content-type", "application/json")]
        url = f"{webhooks.url}{PATH}?timeout=10s"
        answer = await client.request("POST", url, headers=headers, body=body)
        assert answer.status == 200
        return dict(json.decode(await answer.read())["response"])


@contextlib.asynccontextmanager
async def serving(webhooks: Webhooks, **options: Any) -> AsyncIterator[Manager]:
    async with Cluster() as cluster:
        manager = Manager(
            cluster.client,
            events="off",
            webhooks=webhooks,
            graceful_shutdown_timeout_s=1,
            **options,
        )
        async with manager.running():
            yield manager


async def test_a_manager_answers_over_a_certificate_made_here() -> None:
    webhooks = Webhooks()
    webhooks.validate(ConfigMap, no_secrets)
    assert webhooks.check()
    async with serving(webhooks, health=BindAddress()) as manager:
        assert webhooks.url.startswith("https://127.0.0.1:")
        assert (await ask(webhooks, question(), webhooks.ca_bundle))["allowed"] is True
        refusal = await ask(webhooks, question(password="x"), webhooks.ca_bundle)
        assert refusal["status"]["message"] == "data.password: a Secret is the place for it"
        async with http.Client() as client:
            answer = await client.request("GET", f"{manager.health_url}/readyz/webhooks")
            assert answer.status == 200
        value = manager.metrics.registry.get_value
        assert value("controller_runtime_webhook_requests_total", PATH, "200") == 2
        with pytest.raises(ValueError, match="cannot add a webhook while webhooks are served"):
            webhooks.mutate(ConfigMap, lambda review: review.object)
    assert webhooks.check()


async def test_a_standby_answers_too() -> None:
    async with Cluster() as cluster:
        leader = Manager(cluster.client, events="off", election=LeaderElection("e", "default"))
        webhooks = Webhooks()
        webhooks.validate(ConfigMap, no_secrets)
        standby = Manager(
            cluster.client, events="off", election=LeaderElection("e", "default"), webhooks=webhooks
        )
        async with leader.running():
            await leader.wait_elected()
            async with standby.running():
                assert not standby.is_leader
                assert (await ask(webhooks, question(), webhooks.ca_bundle))["allowed"] is True


async def test_certificates_come_from_files(tmp_path: Path) -> None:
    files = CertificateFiles.within(tmp_path)
    with pytest.raises(CertificateError, match=r"tls\.crt"):
        async with serving(Webhooks(certificate=files)):
            pass
    certificate, key = generate_self_signed(SystemClock().now())
    files.certificate.write_bytes(certificate)
    files.key.write_bytes(key)
    webhooks = Webhooks(certificate=files)
    webhooks.validate(ConfigMap, no_secrets)
    async with serving(webhooks):
        assert not webhooks.ca_bundle, "whoever wrote the files knows whom to trust"
        assert (await ask(webhooks, question(), certificate))["allowed"] is True


async def test_what_was_asked_is_answered_before_the_end() -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(review: Review[ConfigMap]) -> None:
        asked.set()
        await go.wait()

    webhooks = Webhooks()
    webhooks.validate(ConfigMap, slow)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(serving(webhooks))
        answer = asyncio.ensure_future(ask(webhooks, question(), webhooks.ca_bundle))
        await asked.wait()
        ending = asyncio.ensure_future(stack.aclose())
        await asyncio.sleep(0)
        go.set()
        assert (await answer)["allowed"] is True
        await ending
