"""Groups of OpenShift users, read from a real API server with OpenShift's kinds."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.integration.services.hub.conftest import PROXY, World

from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.meta.identity import GVR
from quarterdeck.services.hub.errors import Unavailable
from quarterdeck.services.hub.identity import Authenticator, ProxyHeaders, parse_networks
from quarterdeck.services.hub.openshift_groups import OpenShiftGroups
from quarterdeck.wire.status import ServiceUnavailable

Make = Callable[[], AbstractAsyncContextManager[World]]
API = "user.openshift.io"


def definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{API}"},
        "spec": {
            "group": API,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


async def create(cluster: Cluster, kind: str, name: str, **more: Any) -> None:
    document = {"apiVersion": f"{API}/v1", "kind": kind, "metadata": {"name": name}, **more}
    await cluster.client.resource(GVR(API, "v1", f"{kind.lower()}s")).create(document)


async def test_users_get_their_own_name_and_groups_from_openshift() -> None:
    async with Cluster() as cluster:
        await definitions.apply(cluster.client.raw, [definition("User"), definition("Group")])
        await create(cluster, "User", "alice", groups=["dev", "system:masters"])
        await create(cluster, "User", "bob", groups=None)
        await create(cluster, "Group", "ops", users=["bob", "carol"])
        await create(cluster, "Group", "others", users=["dave"])
        groups = OpenShiftGroups(cluster.client.raw, clock=SystemClock(), ttl_s=60)

        async def resolve(name: str, email: str = "") -> tuple[str, tuple[str, ...]]:
            found = await groups.resolve(Principal(username=name, email=email))
            return found.username, found.groups

        assert await resolve("alice") == ("alice", ("dev",)), "only the API server names masters"
        assert await resolve("A. Lice", "alice") == ("alice", ("dev",))
        assert await resolve("bob") == ("bob", ("ops",))
        assert await resolve("carol") == ("carol", ("ops",)), "a Group may name who has no User"
        assert await resolve("nobody") == ("nobody", ())
        assert await resolve("../groups/ops") == ("../groups/ops", ())
        account = "system:serviceaccount:default:alice"
        assert await resolve(account, "alice") == (account, ())


async def test_a_cluster_without_openshift_has_no_groups_of_users() -> None:
    async with Cluster() as cluster:
        groups = OpenShiftGroups(cluster.client.raw, clock=SystemClock(), ttl_s=60)
        alice = Principal(username="alice")
        assert await groups.resolve(alice) == alice


class Users:
    """An API server that counts, and may be away."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_away = False

    async def get(self, path: object, options: object) -> bytes:
        self.asked += 1
        if self.is_away:
            raise ServiceUnavailable("away")
        return b'{"metadata":{"name":"alice"},"groups":["dev"]}'


@pytest.mark.parametrize(("ttl_s", "asked"), [(60, 1), (0, 3)])
async def test_groups_are_remembered_as_long_as_told(ttl_s: int, asked: int) -> None:
    users, clock = Users(), VirtualClock()
    groups = OpenShiftGroups(users, clock=clock, ttl_s=ttl_s)  # type: ignore[arg-type]
    for _ in range(3):
        assert (await groups.resolve(Principal(username="alice"))).groups == ("dev",)
    assert users.asked == asked
    groups.forget()
    await groups.resolve(Principal(username="alice"))
    assert users.asked == asked + 1


async def test_nobody_gets_in_while_groups_cannot_be_read(world: Make) -> None:
    async with world() as w:
        users = Users()
        groups = OpenShiftGroups(users, clock=w.clock, ttl_s=0)  # type: ignore[arg-type]
        proxy = ProxyHeaders(trusted=parse_networks("10.0.0.0/8"))
        w.hub = w.server(authenticator=Authenticator(proxy=proxy, directory=groups))
        headers = {"X-Forwarded-User": "alice"}
        reply = await w.ask("api:/auth/me", headers=headers, peer=PROXY)
        assert reply.body["groups"] == ["dev"]
        users.is_away = True
        assert (await w.ask("api:/auth/me", headers=headers, peer=PROXY)).status == 503
        with pytest.raises(Unavailable):
            await groups.resolve(Principal(username="alice"))
