"""Replicas behind one Service that share the certificate of their webhooks by a Secret."""

import asyncio
import contextlib
from datetime import UTC, datetime

import pytest

from quarterdeck.apis.core import ConfigMap, Secret
from quarterdeck.app.cluster import Cluster
from quarterdeck.client.client import Client
from quarterdeck.client.intercept import Call, Intercept, InterceptingApi
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import (
    Denied,
    Manager,
    Registration,
    Review,
    ServiceReference,
    Webhooks,
)
from quarterdeck.runtime.endpoints.certificate import CertificateError
from quarterdeck.runtime.endpoints.rotation import OVERLAP, RENEW_AFTER
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.webhooks.shared_certificate import SharedCertificate
from quarterdeck.wire.status import ApiError

SERVICE = ServiceReference("default", "webhooks")
SECRET = Key("default", "webhooks-certificate")
START = datetime(2026, 11, 15, tzinfo=UTC)


def refuse_passwords(review: Review[ConfigMap]) -> None:
    if "password" in review.object.data:
        raise Denied("data.password: a Secret is the place for it")


def build_webhooks() -> Webhooks:
    registration = Registration("doors.example.com", service=SERVICE, secret=SECRET)
    webhooks = Webhooks(registration=registration)
    webhooks.validate(ConfigMap, refuse_passwords)
    return webhooks


def share(client: Client, clock: VirtualClock | None = None) -> SharedCertificate:
    return SharedCertificate(
        client.raw,
        SECRET,
        clock=clock or VirtualClock(START),
        log=get_logger("test"),
        hosts=("webhooks.default.svc",),
    )


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def test_the_api_server_trusts_every_replica() -> None:
    replicas = [build_webhooks() for _ in range(2)]
    async with Cluster() as cluster, contextlib.AsyncExitStack() as stack:
        for number, each in enumerate(replicas):
            manager = Manager(
                cluster.client,
                name=f"replica-{number}",
                events="off",
                webhooks=each,
                graceful_shutdown_timeout_s=1,
            )
            await stack.enter_async_context(manager.running())
        assert replicas[0].ca_bundle == replicas[1].ca_bundle
        for number, each in enumerate(replicas):
            cluster.map_webhook_service("default/webhooks", each.url)
            await cluster.client.create(config_map(f"fine-{number}", a="b"))
            with pytest.raises(ApiError, match=r"data\.password: a Secret is the place for it"):
                await cluster.client.create(config_map("bad", password="x"))


async def test_replicas_that_start_together_agree() -> None:
    async with Cluster() as cluster:
        replicas = [share(cluster.client) for _ in range(8)]
        assert all(await asyncio.gather(*(each.refresh() for each in replicas)))
        assert len({each.ca_bundle for each in replicas}) == 1


async def test_replicas_renew_together() -> None:
    async with Cluster() as cluster:
        clock = VirtualClock(START)
        first, second = share(cluster.client, clock), share(cluster.client, clock)
        await first.refresh()
        await second.refresh()
        old = first.ca_bundle
        await clock.advance(RENEW_AFTER.total_seconds())
        assert await first.refresh() is False  # announced, not yet served
        assert await second.refresh() is False
        assert (
            first.ca_bundle == second.ca_bundle
            and first.ca_bundle.startswith(old)
            and first.ca_bundle != old
        )
        await clock.advance(OVERLAP.total_seconds())
        assert await second.refresh() is True
        assert await first.refresh() is True
        assert first.ca_bundle == second.ca_bundle and old in first.ca_bundle


async def test_a_deleted_secret_is_written_again_as_it_was() -> None:
    async with Cluster() as cluster:
        shared = share(cluster.client)
        await shared.refresh()
        before = await cluster.client.get(Secret, SECRET.name, SECRET.namespace)
        await cluster.client.delete(Secret, SECRET.name, SECRET.namespace)
        assert await shared.refresh() is False
        after = await cluster.client.get(Secret, SECRET.name, SECRET.namespace)
        assert (after.data, after.type) == (before.data, "kubernetes.io/tls")


async def test_a_secret_of_somebody_else_is_left_alone() -> None:
    async with Cluster() as cluster:
        metadata = ObjectMeta(name=SECRET.name, namespace=SECRET.namespace)
        await cluster.client.create(Secret(metadata=metadata, data={"mine": "eA=="}))
        with pytest.raises(
            CertificateError, match=r"tls\.crt is missing; delete the Secret to create a new"
        ):
            await share(cluster.client).refresh()
        found = await cluster.client.get(Secret, SECRET.name, SECRET.namespace)
        assert found.data == {"mine": "eA=="}


@pytest.mark.parametrize("page", [b"<html>", b"[]", b'{"status": "maintenance"}'])
async def test_a_page_of_a_proxy_is_a_failed_refresh(page: bytes) -> None:
    async def answer_with_a_page(call: Call) -> bytes:
        return page

    async with Cluster() as cluster:
        api = InterceptingApi(cluster.client.raw, [Intercept("get", answer_with_a_page, times=1)])
        shared = share(Client.from_api(api, cluster.client.config))
        with pytest.raises(CertificateError, match="the answer is not a Secret"):
            await shared.refresh()
        assert await shared.refresh()


async def test_a_missing_right_is_named() -> None:
    async with Cluster() as cluster:
        anna = cluster.as_user("anna", ())
        with pytest.raises(CertificateError, match=r"must allow get, create and update of it"):
            await share(anna).refresh()
