"""Manifests of the hub: an API server takes them, and the role is enough for what the hub asks."""

import asyncio
import random

import pytest

from quarterdeck.app import definitions, hub_manifests
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.component_manifests import build_component_patches, build_components
from quarterdeck.app.installation import DEFAULT_INSTALLATION, NAME
from quarterdeck.app.manifests import build_manager, build_namespace, build_permissions
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime import get_logger
from quarterdeck.runtime.sharding.sharder import SHARDS, Group, Sharder
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import User
from quarterdeck.services.hub.token_review import TokenReviewer
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import GetOptions, ListOptions
from quarterdeck.wire.status import Forbidden

ACCOUNT = f"system:serviceaccount:{DEFAULT_INSTALLATION.namespace}:{hub_manifests.NAME}"


async def test_an_api_server_takes_the_manifests_and_the_role_is_enough() -> None:
    tokens = BearerTokens({"hub": User(name=ACCOUNT, groups=("system:serviceaccounts",))})
    async with Cluster(authenticators=(tokens, PlainPort())) as cluster:
        documents = [
            build_namespace(DEFAULT_INSTALLATION),
            *build_components(DEFAULT_INSTALLATION)["hub"].values(),
        ]
        await definitions.apply(cluster.client.raw, documents)
        path = ResourcePath(
            "apps", "v1", "deployments", DEFAULT_INSTALLATION.namespace, hub_manifests.NAME
        )
        stored = json.decode(await cluster.client.raw.get(path, GetOptions()))
        assert stored["spec"]["template"]["spec"]["serviceAccountName"] == hub_manifests.NAME
        config = ClusterConfig(server=cluster.url, token=Secret("hub"))
        async with Client(config) as client:
            reviewer = TokenReviewer(client.raw, clock=SystemClock())
            assert await reviewer.verify("nonsense") is None
            with pytest.raises(Forbidden):
                await client.raw.get(path, GetOptions())


async def test_the_role_of_the_operators_is_enough_to_share_clusters() -> None:
    account = f"system:serviceaccount:{DEFAULT_INSTALLATION.namespace}:{NAME}"
    tokens = BearerTokens({"manager": User(name=account, groups=("system:serviceaccounts",))})
    async with Cluster(authenticators=(tokens, PlainPort())) as cluster:
        documents = [
            build_namespace(DEFAULT_INSTALLATION),
            *build_permissions(DEFAULT_INSTALLATION).values(),
        ]
        await definitions.apply(cluster.client.raw, documents)
        config = ClusterConfig(server=cluster.url, token=Secret("manager"))
        async with Client(config) as client, Supervisor("test") as tasks:
            shared = asyncio.Event()
            sharder = Sharder(
                client.raw,
                Group("quarterdeck-clusters", DEFAULT_INSTALLATION.namespace),
                identity="one",
                clock=SystemClock(),
                rng=random.Random(1),
                log=get_logger("test"),
                on_change=lambda _: shared.set(),
            )
            running = tasks.spawn(sharder.run(), name="sharder")
            await shared.wait()
            assert sharder.statistics() == {"shards": SHARDS, "members": 1}
            assert sharder.check() == ""
            running.cancel()
            await asyncio.wait([running])
        path = ResourcePath("coordination.k8s.io", "v1", "leases", DEFAULT_INSTALLATION.namespace)
        page = await cluster.client.raw.list(path, ListOptions())
        leases = [json.decode(each) for each in page.items]
        assert len(leases) == SHARDS, "the member's own Lease is deleted"
        assert {each["spec"]["holderIdentity"] for each in leases} == {""}


def test_hub_and_operators_read_the_same_secret() -> None:
    patch = build_component_patches(DEFAULT_INSTALLATION)["hub"]["manager_storage"]
    deployment = build_manager(DEFAULT_INSTALLATION)["manager"]
    assert patch["metadata"]["name"] == deployment["metadata"]["name"]
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in container["env"]] == list(hub_manifests.STORAGE)
    own = build_components(DEFAULT_INSTALLATION)["hub"]["deployment"]["spec"]["template"]["spec"][
        "containers"
    ][0]
    for each in container["env"]:
        assert each in own["env"]
