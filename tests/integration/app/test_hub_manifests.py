"""Manifests of the hub: an API server takes them, and the role is enough for what the hub asks."""

import pytest

from quarterdeck.app import definitions, hub_manifests
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.manifests import HERE, component_patches, components, manager, namespace
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import User
from quarterdeck.services.hub.token_review import TokenReviewer
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import GetOptions
from quarterdeck.wire.status import Forbidden

ACCOUNT = f"system:serviceaccount:{HERE.namespace}:{hub_manifests.NAME}"


async def test_an_api_server_takes_the_manifests_and_the_role_is_enough() -> None:
    tokens = BearerTokens({"hub": User(name=ACCOUNT, groups=("system:serviceaccounts",))})
    async with Cluster(authenticators=(tokens, PlainPort())) as cluster:
        documents = [namespace(HERE), *components(HERE)["hub"].values()]
        await definitions.apply(cluster.client.raw, documents)
        path = ResourcePath("apps", "v1", "deployments", HERE.namespace, hub_manifests.NAME)
        stored = json.decode(await cluster.client.raw.get(path, GetOptions()))
        assert stored["spec"]["template"]["spec"]["serviceAccountName"] == hub_manifests.NAME
        config = ClusterConfig(server=cluster.url, token=Secret("hub"))
        async with Client(config) as client:
            reviewer = TokenReviewer(client.raw, clock=SystemClock())
            assert await reviewer.verify("nonsense") is None
            with pytest.raises(Forbidden):
                await client.raw.get(path, GetOptions())


def test_hub_and_operators_read_the_same_secret() -> None:
    patch = component_patches(HERE)["hub"]["manager_storage"]
    deployment = manager(HERE)["manager"]
    assert patch["metadata"]["name"] == deployment["metadata"]["name"]
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in container["env"]] == list(hub_manifests.STORAGE)
    own = components(HERE)["hub"]["deployment"]["spec"]["template"]["spec"]["containers"][0]
    for each in container["env"]:
        assert each in own["env"]
