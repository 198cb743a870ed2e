"""A hub, clusters to watch and the operator between them, in memory and on virtual time."""

import contextlib
import functools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from virtual_time import VirtualTime

from quarterdeck.apis.clusterpulse.v1alpha1 import (
    KINDS,
    ClusterConnection,
    MetricSource,
)
from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.app import definitions
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.hubstate.embedded.history import EmbeddedHistory, open_history
from quarterdeck.hubstate.embedded.state import EmbeddedState, open_embedded
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.conditions import Condition, find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters import Hub, HubOptions
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.runtime import Manager
from quarterdeck.server.api import ApiServer
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_memory
from quarterdeck.wire.status import NotFound

TOKEN = "token-of-the-test"
RENEWED = "token-after-rotation"
ADMIN = "token-of-the-administrator"
_MASTER = User(name="hub", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
EVENTS = GVR("", "v1", "events")

Answer = http.Response | http.StreamResponse


class Spoke:
    """A cluster behind a handler that can go wrong."""

    def __init__(self, api: ApiServer, url: str, client: Client) -> None:
        self.api = api
        self.url = url
        self.client = client
        self.token = TOKEN
        self.requests: list[str] = []
        self.agents: list[str] = []
        """Who sent each of the requests."""
        self.fault: Callable[[http.Request], Awaitable[Answer | None]] | None = None

    async def handle(self, request: http.Request) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        agent = headers.get("user-agent", "")
        if agent.startswith("quarterdeck-hub"):
            self.requests.append(request.path)
            self.agents.append(agent)
            if headers.get("authorization") != f"Bearer {self.token}":
                return http.Response(401, [("Content-Type", "text/plain")], b"Unauthorized")
            if self.fault is not None:
                found = await self.fault(request)
                if found is not None:
                    return found
        # on plain HTTP the server answers to loopback names only
        others = [(name, value) for name, value in request.headers.items() if name != "Host"]
        request.headers = http.Headers([("Host", "localhost"), *others])
        return await self.api.handle(request)


class World(VirtualTime):
    """Everything a scenario needs."""

    def __init__(
        self, clock: VirtualClock, network: http.MemoryNetwork, client: Client, tasks: Supervisor
    ) -> None:
        super().__init__(clock, turns=400, limit_s=300.0)
        self.network = network
        self.client = client
        self.tasks = tasks
        self.stack = contextlib.AsyncExitStack()
        self.state: EmbeddedState = open_embedded(None, clock=clock)
        self.history: EmbeddedHistory = open_history(None, clock=clock)
        self.hub: Hub | None = None
        self.api: ApiServer | None = None

    @contextlib.asynccontextmanager
    async def operator(
        self, *, state: Any = None, registry: Any = None, **options: Any
    ) -> AsyncIterator[Manager]:
        """The operator at work."""
        manager = Manager(self.client, name="test", clock=self.clock, rng=random.Random(1))
        self.hub = clusters.register(
            manager,
            state=state or self.state,
            history=self.history,
            options=HubOptions(**options),
            make_client=lambda config: Client(config, clock=self.clock, network=self.network),
            registry=registry,
        )
        async with manager.running():
            yield manager
            while manager.next_work_s() == 0.0:
                await self._step(self.clock.monotonic() + 1.0)

    async def spoke(self, name: str = "east", profile: Profile | None = None) -> Spoke:
        """A cluster with contents; nobody watches it yet."""
        api = ApiServer(
            open_memory(derive=decode_object_meta),
            clock=self.clock,
            rng=random.Random(4),
            authenticators=(BearerTokens(dict.fromkeys((TOKEN, RENEWED, ADMIN), _MASTER)),),
        )
        await api.start()
        self.tasks.spawn(api.run(), name=f"api-{name}")
        spoke = Spoke(api, f"http://{name}", self.client)
        server = http.Server(spoke.handle, clock=self.clock)
        spoke.url = self.network.serve(server, name)
        config = ClusterConfig(server=spoke.url, token=Secret(ADMIN))
        spoke.client = await self.stack.enter_async_context(
            Client(config, clock=self.clock, network=self.network)
        )
        self.stack.push_async_callback(functools.partial(server.drain, 0.0))
        await populate(spoke.client, profile or Profile(), clock=self.clock)
        return spoke

    async def secret(self, name: str = "east", **data: str) -> None:
        """Credentials."""
        metadata = ObjectMeta(name=f"{name}-credentials", namespace="default")
        await self.client.create(
            KubeSecret(metadata=metadata, string_data=data or {"token": TOKEN})
        )

    async def connect(
        self, name: str = "east", url: str = "", namespace: str = "default", **spec: Any
    ) -> None:
        """A ClusterConnection."""
        await self.create(
            "ClusterConnection",
            name,
            {
                "endpoint": url or f"http://{name}",
                "credentialsRef": {"name": f"{name}-credentials", "namespace": "default"},
                **spec,
            },
            namespace,
        )

    async def create(
        self, kind: str, name: str, spec: dict[str, Any], namespace: str = "default"
    ) -> None:
        """An object of our kinds."""
        [found] = [each for each in KINDS if each.KIND.kind == kind]
        document = {
            "apiVersion": found.KIND.api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
        await self.client.resource(found.KIND.gvr).create(document)

    async def get(self, name: str = "east") -> ClusterConnection:
        """A ClusterConnection as it is."""
        return await self.client.get(ClusterConnection, name, "default")

    async def source(self, name: str) -> MetricSource:
        """A MetricSource as it is."""
        return await self.client.get(MetricSource, name, "default")

    async def health(self, wanted: str, name: str = "east", **more: Any) -> ClusterConnection:
        """Wait until a cluster has a health."""

        async def holds() -> ClusterConnection | None:
            found = await self.get(name)
            return found if found.status.health == wanted else None

        try:
            connection: ClusterConnection = await self.until(holds, **more)
        except AssertionError:
            status = msgspec.to_builtins((await self.get(name)).status)
            raise AssertionError(f"waited for {wanted}: {status}") from None
        return connection

    async def events(self) -> list[str]:
        """The reasons of all events, in order."""
        listed = await self.client.resource(EVENTS).list("default")
        return [str(item["reason"]) for item in listed]

    async def gone(self, kind: Any, name: str, namespace: str = "default") -> None:
        """Wait until an object is gone."""

        async def holds() -> bool:
            try:
                await self.client.get(kind, name, namespace)
            except NotFound:
                return True
            return False

        await self.until(holds)

    async def read(self, key: str) -> Any:
        """A JSON value of the store."""
        data = await self.state.get(key)
        return None if data is None else msgspec.json.decode(data)

    @staticmethod
    def condition(obj: Any, type_: str = "Ready") -> Condition:
        """A condition, or a blank one."""
        found: Condition | None = find(obj.status.conditions, type_)
        return found if found is not None else Condition(type=type_, status="Unknown")


@contextlib.asynccontextmanager
async def _world() -> AsyncIterator[World]:
    clock = VirtualClock()
    network = http.MemoryNetwork(clock=clock)
    api = ApiServer(open_memory(derive=decode_object_meta), clock=clock, rng=random.Random(3))
    await api.start()
    server = http.Server(api.handle, clock=clock)
    url = network.serve(server, "localhost")
    async with (
        Supervisor("world") as tasks,
        Client(ClusterConfig(server=url), clock=clock, network=network) as client,
    ):
        tasks.spawn(api.run(), name="api")
        world = World(clock, network, client, tasks)
        world.api = api
        async with world.stack:
            await definitions.install(client.raw, KINDS)
            yield world
        await server.drain(0.0)
        await world.state.aclose()
        await world.history.aclose()


@pytest.fixture
def world() -> Callable[[], contextlib.AbstractAsyncContextManager[World]]:
    return _world
