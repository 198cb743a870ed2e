"""Webhooks that a manager registers itself, called by our own API server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.meta.crd import build_manifest
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import (
    CertificateFiles,
    Denied,
    Manager,
    Registration,
    Review,
    ServiceReference,
    Spoke,
    Webhooks,
)
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.runtime.webhooks.conversion import Conversion
from quarterdeck.storage import StoreEvent
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ApiError


class AddressSpec(Struct, frozen=True, kw_only=True):
    """Where a door leads, in one piece."""

    address: str = ""


class PartsSpec(Struct, frozen=True, kw_only=True):
    """Where a door leads, in two pieces."""

    host: str = ""
    port: str = ""


class DoorV2(Object, frozen=True, kw_only=True):
    """The hub."""

    KIND: ClassVar[KindInfo] = KindInfo(
        group="conv.example.com", version="v2", kind="Door", plural="doors", storage=True
    )
    spec: AddressSpec = AddressSpec()


class DoorV1(Object, frozen=True, kw_only=True):
    """An older version."""

    KIND: ClassVar[KindInfo] = KindInfo(
        group="conv.example.com", version="v1", kind="Door", plural="doors", storage=False
    )
    spec: PartsSpec = PartsSpec()


def to_hub(door: DoorV1) -> DoorV2:
    address = f"{door.spec.host}:{door.spec.port}"
    return DoorV2(metadata=door.metadata, spec=AddressSpec(address=address))


def from_hub(door: DoorV2) -> DoorV1:
    host, colon, port = door.spec.address.partition(":")
    if not colon:
        raise ValueError(f"spec.address: {door.spec.address!r} has no port")
    return DoorV1(metadata=door.metadata, spec=PartsSpec(host=host, port=port))


def no_passwords(review: Review[ConfigMap]) -> None:
    if "password" in review.object.data:
        raise Denied("data.password: a Secret is the place for it")


@contextlib.asynccontextmanager
async def managing(cluster: Cluster, webhooks: Webhooks) -> AsyncIterator[Manager]:
    manager = Manager(
        cluster.client, name="doors", events="off", webhooks=webhooks, graceful_shutdown_timeout_s=1
    )
    async with manager.running():
        yield manager


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def test_registered_webhook_decides_about_writes() -> None:
    webhooks = Webhooks(registration=Registration("doors.example.com"))
    webhooks.validate(ConfigMap, no_passwords)
    async with Cluster() as cluster, managing(cluster, webhooks):
        assert webhooks.check() == ""
        await cluster.client.create(config_map("fine", a="b"))
        with pytest.raises(ApiError, match=r"data\.password: a Secret is the place for it"):
            await cluster.client.create(config_map("bad", password="x"))


async def test_service_is_mapped_to_where_the_manager_listens() -> None:
    service = ServiceReference("shop-system", "webhooks")
    webhooks = Webhooks(registration=Registration("doors.example.com", service=service))
    webhooks.validate(ConfigMap, no_passwords)
    async with Cluster() as cluster, managing(cluster, webhooks):
        with pytest.raises(ApiError, match='service "webhooks" not found'):
            await cluster.client.create(config_map("fine", a="b"))
        cluster.map_webhook_service("shop-system/webhooks", webhooks.url)
        await cluster.client.create(config_map("fine", a="b"))
        with pytest.raises(ApiError, match="denied the request"):
            await cluster.client.create(config_map("bad", password="x"))


async def test_certificate_files_bring_their_authority(tmp_path: Path) -> None:
    files = CertificateFiles.within(tmp_path)
    certificate, key = generate_self_signed(SystemClock().now())
    files.certificate.write_bytes(certificate)
    files.key.write_bytes(key)
    (tmp_path / "ca.crt").write_bytes(certificate)
    webhooks = Webhooks(certificate=files, registration=Registration("doors.example.com"))
    webhooks.validate(ConfigMap, no_passwords)
    async with Cluster() as cluster, managing(cluster, webhooks):
        with pytest.raises(ApiError, match="denied the request"):
            await cluster.client.create(config_map("bad", password="x"))


async def test_cert_manager_fills_in_the_authority() -> None:
    registration = Registration("doors.example.com", cert_manager="shop-system/serving")
    webhooks = Webhooks(registration=registration)
    webhooks.validate(ConfigMap, no_passwords)
    async with Cluster() as cluster, managing(cluster, webhooks):
        path = ResourcePath(
            "admissionregistration.k8s.io",
            "v1",
            "validatingwebhookconfigurations",
            name="doors.example.com",
        )
        stored = (await cluster.client.raw.get(path)).decode()
        assert '"cert-manager.io/inject-ca-from":"shop-system/serving"' in stored
        assert "caBundle" not in stored


async def define_doors(cluster: Cluster) -> None:
    manifest: dict[str, Any] = build_manifest([DoorV2, DoorV1])
    path = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    await cluster.client.raw.create(path, json.encode(manifest))


async def test_versions_of_a_kind_are_converted_by_functions() -> None:
    webhooks = Webhooks(registration=Registration("doors.example.com"))
    assert webhooks.convert(DoorV2, Spoke(DoorV1, to_hub, from_hub)) == "/convert"
    async with Cluster() as cluster:
        await define_doors(cluster)
        async with managing(cluster, webhooks):
            metadata = ObjectMeta(
                name="front",
                namespace="default",
                labels={"a": "b"},
                finalizers=("x.example.com/y",),
            )
            spec = PartsSpec(host="h", port="80")
            await cluster.client.create(DoorV1(metadata=metadata, spec=spec))
            hub = await cluster.client.get(DoorV2, "front", "default")
            assert hub.spec.address == "h:80"
            assert hub.metadata.labels == {"a": "b"}
            assert list(hub.metadata.finalizers) == ["x.example.com/y"]
            spoke = await cluster.client.get(DoorV1, "front", "default")
            assert spoke.spec == spec


async def test_object_that_cannot_be_converted_is_explained() -> None:
    webhooks = Webhooks(registration=Registration("doors.example.com"))
    webhooks.convert(DoorV2, Spoke(DoorV1, to_hub, from_hub))
    async with Cluster() as cluster:
        await define_doors(cluster)
        async with managing(cluster, webhooks):
            metadata = ObjectMeta(name="back", namespace="default")
            await cluster.client.create(
                DoorV2(metadata=metadata, spec=AddressSpec(address="nowhere"))
            )
            with pytest.raises(ApiError, match=r"spec\.address: 'nowhere' has no port"):
                await cluster.client.get(DoorV1, "back", "default")


def test_spokes_of_another_kind_are_refused() -> None:
    class Gate(Object, frozen=True, kw_only=True):
        KIND: ClassVar[KindInfo] = KindInfo(
            group="conv.example.com", version="v1", kind="Gate", plural="gates"
        )

    webhooks = Webhooks()
    with pytest.raises(ValueError, match="a spoke must be a version of the same kind"):
        webhooks.convert(DoorV2, Spoke(Gate, lambda gate: DoorV2(), lambda hub: Gate()))


@contextlib.asynccontextmanager
async def managing_by_hand(
    cluster: Cluster, webhooks: Webhooks, clock: VirtualClock
) -> AsyncIterator[Manager]:
    """A manager whose time is the test's: the server and its connections keep their own."""
    manager = Manager(
        cluster.client,
        name="doors",
        events="off",
        webhooks=webhooks,
        graceful_shutdown_timeout_s=1,
        clock=clock,
    )
    async with manager.running():
        yield manager


def watch_for(cluster: Cluster, resource: str) -> asyncio.Event:
    """An event that is set when an object of a resource is written."""
    seen = asyncio.Event()

    def follow(events: Sequence[StoreEvent]) -> None:
        if any(event.key.resource == resource for event in events):
            seen.set()

    cluster.api.core.store.subscribe(follow)
    return seen


CONFIGURATIONS = "validatingwebhookconfigurations.admissionregistration.k8s.io"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


async def test_new_authority_is_registered_again(tmp_path: Path) -> None:
    files = CertificateFiles.within(tmp_path)
    now = SystemClock().now()
    certificate, key = generate_self_signed(now)
    files.certificate.write_bytes(certificate)
    files.key.write_bytes(key)
    webhooks = Webhooks(certificate=files, registration=Registration("doors.example.com"))
    webhooks.validate(ConfigMap, no_passwords)
    clock = VirtualClock(now)
    async with Cluster() as cluster, managing_by_hand(cluster, webhooks, clock):
        written = watch_for(cluster, CONFIGURATIONS)
        certificate, key = generate_self_signed(now)
        files.key.write_bytes(key)
        files.certificate.write_bytes(certificate)
        await clock.advance(11)
        await written.wait()
        with pytest.raises(ApiError, match="denied the request"):
            await cluster.client.create(config_map("bad", password="x"))


async def test_registration_that_fails_is_tried_again() -> None:
    webhooks = Webhooks(registration=Registration("doors.example.com"))
    webhooks.convert(DoorV2, Spoke(DoorV1, to_hub, from_hub))
    clock = VirtualClock(SystemClock().now())
    async with Cluster() as cluster, managing_by_hand(cluster, webhooks, clock):
        assert "webhooks are not registered" in webhooks.check()
        await define_doors(cluster)
        written = watch_for(cluster, DEFINITIONS)
        await clock.advance(11)
        await written.wait()
        metadata = ObjectMeta(name="front", namespace="default")
        await cluster.client.create(DoorV1(metadata=metadata, spec=PartsSpec(host="h", port="80")))
        assert (await cluster.client.get(DoorV2, "front", "default")).spec.address == "h:80"
        assert webhooks.check() == ""


@given(st.text(st.characters(codec="ascii", exclude_characters=":"), max_size=20), st.text())
def test_conversion_there_and_back_keeps_the_object(host: str, port: str) -> None:
    conversion = Conversion(DoorV2, [Spoke(DoorV1, to_hub, from_hub)])
    value: dict[str, Any] = {
        "apiVersion": "conv.example.com/v1",
        "kind": "Door",
        "metadata": {"name": "d", "uid": "u", "finalizers": ["x"], "labels": {"a": "b"}},
        "spec": {"host": host, "port": port},
    }
    there = conversion.convert(value, "v2")
    assert there["metadata"] == value["metadata"]
    back = conversion.convert(there, "v1")
    assert back["metadata"] == value["metadata"]
    absent = {"host": "", "port": ""}
    assert absent | back.get("spec", {}) == value["spec"]
