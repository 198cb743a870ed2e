"""Push mode from end to end on real sockets: real API servers with RBAC, a real ingester with TLS.

What a kubelet would do is done here: the collector starts with the variables of its Deployment,
the token of its Secret and the rights of its service account.
"""

import asyncio
import base64
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ingester_hub import CLOCK, running_hub

from quarterdeck.agents.collector.agent import CollectorAgent
from quarterdeck.agents.collector.buffer import DiskBuffer
from quarterdeck.agents.collector.settings import read_settings
from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.app import definitions
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.app.collector_manifest import JoinOptions, join
from quarterdeck.app.enrollment import Enrollment, connect_cluster, enroll
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.hubstate import keys
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import EmbeddedState, open_embedded
from quarterdeck.hubstate.push import tokens
from quarterdeck.kit import json
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import GVR
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters import CollectorOptions, HubOptions
from quarterdeck.operators.clusters.collector_objects import NAME, NAMESPACE, TOKEN_SECRET
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.runtime import Manager
from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles
from quarterdeck.services.ingester.server import Ingester
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import ApiError, Forbidden, NotFound

DAY = timedelta(days=1)
SERVER_NAME = "clusterpulse-ingester.quarterdeck-system.svc"


@pytest.fixture(scope="session", autouse=True)
def _grpc_pollers() -> None:
    async def connect() -> None:
        async with running_hub() as hub, hub.connect("warm", await hub.issue("warm")):
            pass

    asyncio.run(connect())


async def eventually(check: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(240):
        while True:
            with contextlib.suppress(ApiError):
                if found := await check():
                    return found
            await asyncio.sleep(0.05)


class World:
    """A hub with an ingester, and a cluster to manage."""

    def __init__(self, hub: Client, spoke: Client, state: EmbeddedState, folder: Path) -> None:
        self.hub = hub
        self.spoke = spoke
        self.state = state
        self.folder = folder
        self.port = 0
        self.authority = ""

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    async def wait_reason(self, reason: str) -> ClusterConnection:
        """Wait for the reason of CollectorReady; a change of the spec makes the hub look."""

        async def holds() -> ClusterConnection | None:
            found = await self.hub.get(ClusterConnection, "east", "default")
            condition = find(found.status.conditions, "CollectorReady")
            if condition is not None and condition.reason == reason:
                return found
            return None

        with contextlib.suppress(NotFound):
            await self.touch()
        found: ClusterConnection = await eventually(holds)
        return found

    async def touch(self) -> None:
        """Make the hub look now instead of after its interval."""
        name = f"East {random.random()}"
        resource = self.hub.resource(ClusterConnection.KIND.gvr)
        await resource.patch("east", {"spec": {"displayName": name}}, namespace="default")

    async def read_environment(self) -> dict[str, str]:
        """What the kubelet would set, with the mounted file in a folder of the test."""
        deployments = self.spoke.resource(GVR("apps", "v1", "deployments"))
        secrets = self.spoke.resource(GVR("", "v1", "secrets"))
        maps = self.spoke.resource(GVR("", "v1", "configmaps"))
        deployment = await deployments.get(NAME, NAMESPACE)
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        values = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        secret = await secrets.get(TOKEN_SECRET, NAMESPACE)
        trusted = await maps.get("ingester-ca", NAMESPACE)
        path = self.folder / "service-ca.crt"
        path.write_text(trusted["data"]["service-ca.crt"])
        return values | {
            "COLLECTOR_TOKEN": base64.b64decode(secret["data"]["token"]).decode(),
            "INGESTER_TLS_CA": str(path),
            "BUFFER_DIR": str(self.folder / "buffer"),
        }

    @contextlib.asynccontextmanager
    async def collector(self) -> AsyncIterator[CollectorAgent]:
        """The collector of the Deployment, as its service account."""
        settings = read_settings(await self.read_environment())
        path = ResourcePath("", "v1", "serviceaccounts", NAMESPACE, NAME, "token")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = json.decode(await self.spoke.raw.create(path, json.encode(request)))
        own = ClusterConfig(
            server=self.spoke.config.server,
            certificate_authority=self.spoke.config.certificate_authority,
            token=Secret(str(answer["status"]["token"])),
        )
        buffer = DiskBuffer(settings.buffer_folder, max_batches=10, max_bytes=10_000_000)
        async with Client(own, clock=CLOCK) as client, Supervisor("collector") as tasks:
            with pytest.raises(Forbidden):
                await client.resource(GVR("", "v1", "secrets")).get(TOKEN_SECRET, NAMESPACE)
            agent = CollectorAgent(client, settings, buffer, clock=CLOCK, random=random.Random(1))
            tasks.spawn(agent.run(), name="agent")
            yield agent
            await tasks.cancel_all()


def write_certificate(folder: Path) -> tuple[TlsFiles, str]:
    """A pair whose name is not the address: what a Service behind a passthrough route has."""
    now = CLOCK.now()
    authority = issue_certificate(CertificateRequest("a", DAY, is_authority=True), now=now)
    request = CertificateRequest("ingester", DAY, (SERVER_NAME,))
    issued = issue_certificate(request, now=now, issuer=authority)
    (folder / "tls.crt").write_bytes(issued.encode_certificate())
    (folder / "tls.key").write_bytes(issued.encode_key())
    files = TlsFiles(certificate=folder / "tls.crt", key=folder / "tls.key")
    return files, authority.encode_certificate().decode()


@contextlib.asynccontextmanager
async def running_world(folder: Path, *, image: str) -> AsyncIterator[World]:
    tls, authority = write_certificate(folder)
    state, history = open_embedded(None, clock=CLOCK), open_history(None, clock=CLOCK)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(state.aclose)
        stack.push_async_callback(history.aclose)
        factory = await stack.enter_async_context(EmbeddedClusters(clock=CLOCK))
        hub = await stack.enter_async_context(Client(await factory.create("hub"), clock=CLOCK))
        spoke = await stack.enter_async_context(Client(await factory.create("east"), clock=CLOCK))
        await definitions.install(hub.raw, KINDS)
        await populate(spoke, Profile(nodes=2, pods=4), clock=CLOCK)
        world = World(hub, spoke, state, folder)
        options = IngesterOptions(port=0, tls=tls)
        ingester = Ingester(state, history, options=options, clock=CLOCK)
        await stack.enter_async_context(ingester.running())
        world.port, world.authority = ingester.port, authority
        manager = Manager(hub, name="test", clock=CLOCK)
        collector = CollectorOptions(image=image, authority=authority, server_name=SERVER_NAME)
        clusters.register(
            manager, state=state, history=history, options=HubOptions(collector=collector)
        )
        await stack.enter_async_context(manager.running())
        yield world


async def test_the_hub_deploys_a_collector_with_the_rights_that_add_gave_it(
    tmp_path: Path,
) -> None:
    async with running_world(tmp_path, image="collector:1") as world:
        wanted = Enrollment(name="east", ingester_address=world.address)
        credentials = await enroll(world.spoke, world.hub, wanted, clock=CLOCK)
        assert credentials.expires_at == ""
        await connect_cluster(world.hub, wanted, world.spoke.config.server, credentials)
        await world.wait_reason("NotConnected")
        environment = await world.read_environment()
        assert environment["COLLECTOR_TOKEN"] != credentials.token
        async with world.collector() as agent:

            async def has_sent() -> bool:
                return agent.sent > 0

            await eventually(has_sent)
            found = await world.wait_reason("Connected")
            assert found.status.nodes >= 2
            assert found.status.collector_status is not None
            assert found.status.collector_status.image == "collector:1"
        await world.hub.delete(ClusterConnection, "east", "default")

        async def is_gone() -> bool:
            try:
                await world.hub.get(ClusterConnection, "east", "default")
            except NotFound:
                return True
            return False

        await eventually(is_gone)
        with pytest.raises(NotFound):
            await world.spoke.resource(GVR("apps", "v1", "deployments")).get(NAME, NAMESPACE)
        assert await world.state.list_keys("cluster:east:") == []


async def test_a_joined_cluster_pushes_to_a_hub_that_cannot_reach_it(tmp_path: Path) -> None:
    async with running_world(tmp_path, image="") as world:
        manifest = _connection_nobody_answers()
        await definitions.apply(world.hub.raw, manifest)
        await eventually(lambda: _has_failed(world))
        joining = JoinOptions(
            name="east",
            namespace="default",
            image="collector:1",
            ingester_address=world.address,
            authority=world.authority,
            server_name=SERVER_NAME,
        )
        documents = await join(world.hub, joining)
        await definitions.apply(world.spoke.raw, documents)
        token = (await world.read_environment())["COLLECTOR_TOKEN"]

        async def is_accepted() -> bool:
            return await tokens.check_token(world.state, "east", token)

        await eventually(is_accepted)
        async with world.collector() as agent:

            async def has_sent() -> bool:
                return agent.sent > 0

            await eventually(has_sent)
            found = await world.wait_reason("Connected")
            assert found.status.phase == "Connected"
            assert found.status.nodes >= 2  # pods of Deployments get a simulated node
            data = await world.state.get(keys.cluster("east", "metrics"))
            assert data is not None and msgspec.json.decode(data)["nodes"] >= 2
            await join(world.hub, joining)  # another token: this one is refused

            async def is_refused() -> bool:
                return not await tokens.check_token(world.state, "east", token)

            await eventually(is_refused)


def _connection_nobody_answers() -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "east-credentials", "namespace": "default"},
            "stringData": {"token": "none"},
        },
        {
            "apiVersion": "clusterpulse.io/v1alpha1",
            "kind": "ClusterConnection",
            "metadata": {"name": "east", "namespace": "default"},
            "spec": {
                "endpoint": "https://127.0.0.1:9",
                "credentialsRef": {"name": "east-credentials"},
            },
        },
    ]


async def _has_failed(world: World) -> bool:
    found = await world.hub.get(ClusterConnection, "east", "default")
    return found.status.phase == "Error"
