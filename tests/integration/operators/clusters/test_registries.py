"""Registries that are checked: what is kept, what the status says, and what ends with them."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import RegistryConnection
from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.hubstate.registry_writes import RegistryFacts
from quarterdeck.kit import rfc3339
from quarterdeck.meta.conditions import find
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.clusters.ports import RegistryAddress, RegistryCheck, RegistryReport

Make = Callable[[], AbstractAsyncContextManager[Any]]


class Fake:
    """A registry that answers what a test says, and remembers how it was asked."""

    def __init__(self) -> None:
        self.facts = RegistryFacts(
            available=True,
            response_time=42,
            version="registry/2.0",
            repository_count=3,
            repositories=("a", "b", "c"),
            features={"docker_v2_api": True},
        )
        self.is_authenticated = True
        self.asked: list[tuple[RegistryAddress, RegistryCheck]] = []

    async def check(self, address: RegistryAddress, wanted: RegistryCheck) -> RegistryReport:
        self.asked.append((address, wanted))
        return RegistryReport(facts=self.facts, authenticated=self.is_authenticated)

    def change(self, **facts: Any) -> None:
        self.facts = msgspec.structs.replace(self.facts, **facts)


async def _registry(w: Any, health: str) -> RegistryConnection:
    async def holds() -> RegistryConnection | None:
        found: RegistryConnection = await w.client.get(RegistryConnection, "hub", "default")
        return found if found.status.health == health else None

    result: RegistryConnection = await w.until(holds)
    return result


async def _create(w: Any, **spec: Any) -> None:
    await w.create("RegistryConnection", "hub", {"endpoint": "registry.example.com/", **spec})


async def test_a_registry_is_checked_and_kept(world: Make) -> None:
    async with world() as w:
        fake = Fake()
        await _create(w, displayName="Hub", type="harbor", monitoring={"checkCatalog": True})
        async with w.operator(registry=fake):
            found = await _registry(w, "healthy")
            assert (found.status.phase, found.status.available) == ("Connected", True)
            text = "Registry is healthy (response time: 42ms), 3 repositories"
            assert found.status.message == text
            assert found.status.features == {"docker_v2_api": True}
            address, wanted = fake.asked[0]
            assert address.url == "https://registry.example.com"
            assert (wanted.paths, wanted.catalog_limit) == (("/v2/",), 100)
            spec = await w.read("registry:hub:spec")
            assert (spec["display_name"], spec["monitoring"]["interval"]) == ("Hub", 60)
            status = await w.read("registry:hub:status")
            assert (status["available"], status["repository_count"]) == (True, 3)
            assert await w.state.get_members("registries:all") == {"hub"}
            assert (await w.state.get_fields("registry:hub:meta"))["available"] == "true"
            assert (await w.read("registry:hub:metrics:latest"))["response_time"] == 42
            assert len(await w.state.get_scored_members("registry:hub:metrics")) == 1
            await w.client.delete(RegistryConnection, "hub", "default")
            await w.gone(RegistryConnection, "hub")
        assert not [key for key in await w.state.list_keys("") if "hub" in key]


@pytest.mark.parametrize(
    ("facts", "authenticated", "health", "text"),
    [
        ({"available": False, "error": "request failed: refused"}, True, "unhealthy", "refused"),
        ({"response_time": 6000}, True, "degraded", "Registry is slow (response time: 6000ms)"),
        ({}, False, "degraded", "authentication failed"),
    ],
)
async def test_a_registry_that_is_not_well_says_why(
    world: Make, facts: dict[str, Any], authenticated: bool, health: str, text: str
) -> None:
    async with world() as w:
        fake = Fake()
        fake.change(**facts)
        fake.is_authenticated = authenticated
        await _create(w)
        async with w.operator(registry=fake):
            found = await _registry(w, health)
            assert text in found.status.message
            fake.facts, fake.is_authenticated = Fake().facts, True
            await _registry(w, "healthy")


async def test_two_registries_of_one_name_do_not_mix(world: Make) -> None:
    async with world() as w:
        fake = Fake()
        await _create(w)
        await w.client.resource(Namespace.KIND.gvr).create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )

        async def has_reason(reason: str) -> bool:
            found = await w.client.get(RegistryConnection, "hub", "other")
            condition = find(found.status.conditions, "Ready")
            return condition is not None and condition.reason == reason

        async with w.operator(registry=fake):
            await _registry(w, "healthy")
            await w.advance(2)
            spec = {"endpoint": "younger.example.com"}
            await w.create("RegistryConnection", "hub", spec, namespace="other")
            await w.until(lambda: has_reason("NameConflict"))
            await w.client.delete(RegistryConnection, "hub", "other")
            await w.gone(RegistryConnection, "hub", "other")
            kept = await w.read("registry:hub:spec")
            assert kept["endpoint"] == "registry.example.com/"
            await w.create("RegistryConnection", "hub", spec, namespace="other")
            await w.until(lambda: has_reason("NameConflict"))
            await w.client.delete(RegistryConnection, "hub", "default")
            await w.until(lambda: has_reason("Healthy"))
            kept = await w.read("registry:hub:spec")
            assert kept["endpoint"] == "younger.example.com"


async def test_small_differences_do_not_write_the_status(world: Make) -> None:
    async with world() as w:
        fake = Fake()
        await _create(w, monitoring={"interval": 30})
        async with w.operator(registry=fake):
            before = (await _registry(w, "healthy")).resource_version
            for time_ms in (40, 55, 60):
                fake.change(response_time=time_ms)
                await w.advance(30)
            assert (await _registry(w, "healthy")).resource_version == before
            fake.change(response_time=1500)
            await w.advance(30)
            assert (await _registry(w, "healthy")).status.response_time == 1500


async def test_the_time_of_the_last_check_is_at_most_five_minutes_old(world: Make) -> None:
    async with world() as w:
        await _create(w, monitoring={"interval": 30})
        async with w.operator(registry=Fake()):
            before = (await _registry(w, "healthy")).status.last_check_time
            await w.advance(331)
            after = (await _registry(w, "healthy")).status.last_check_time
            assert (rfc3339.parse(after) - rfc3339.parse(before)).total_seconds() >= 300
            w.clock._start -= timedelta(days=1)
            await w.advance(31)
            assert (await _registry(w, "healthy")).status.last_check_time < before


async def test_credentials_come_from_the_secret_and_their_change_is_noticed(world: Make) -> None:
    async with world() as w:
        fake = Fake()
        await _create(w, credentialsRef={"name": "login"})
        async with w.operator(registry=fake):
            found = await _registry(w, "healthy")
            assert "Secret default/login not found" in found.status.message
            metadata = ObjectMeta(name="login", namespace="default")
            data = {"username": "hub", "password": "hunter2"}
            await w.client.create(KubeSecret(metadata=metadata, string_data=data))
            await w.until(lambda: fake.asked[-1][0].username == "hub")
            assert fake.asked[-1][0].password.reveal() == "hunter2"
            assert "hunter2" not in str(await _registry(w, "healthy"))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"endpoint": "registry.example.com:99999"}, "spec.endpoint 'https://registry.example.com"),
        ({"healthCheckPaths": ["/v2/", "http://metadata.internal/"]}, "spec.healthCheckPaths[1]"),
    ],
)
async def test_registry_is_not_asked_with_a_wrong_address(
    world: Make, spec: dict[str, Any], text: str
) -> None:
    async with world() as w:
        fake = Fake()
        await _create(w, **spec)
        async with w.operator(registry=fake):
            found = await _registry(w, "unhealthy")
            assert text in found.status.message
            assert not fake.asked
