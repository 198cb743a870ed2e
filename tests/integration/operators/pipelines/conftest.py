"""A cluster, a fleet server and the operator between them, in memory and on virtual time.

Nothing here touches a socket or the real clock: a test says what the fleet server does wrong and
how much time passes, and looks at what both servers have in the end.
"""

import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from virtual_time import VirtualTime

from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.apis.fleetmanagement.v1alpha1 import KINDS, FleetConnection, Pipeline
from quarterdeck.app import definitions
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.conditions import Condition, find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators import pipelines
from quarterdeck.operators.pipelines import Address
from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.runtime import Manager
from quarterdeck.server.api import ApiServer
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.services.fleet.auth import Scope, Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.wire.status import NotFound

TOKEN = "fleet-token-of-the-test"
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
FLEET_HOST = "fleet.svc"
API_HOST = "localhost"
EVENTS = GVR("", "v1", "events")

Answer = http.Response | http.StreamResponse
Fault = Callable[[http.Request, Callable[[], Awaitable[Answer]]], Awaitable[Answer]]
"""Gets the request and a way to have it answered; returns what the caller sees."""


def answer(status: int, code: str, message: str = "injected", **headers: str) -> Fault:
    """A Connect error instead of the call."""

    async def fault(request: http.Request, proceed: Callable[[], Awaitable[Answer]]) -> Answer:
        await request.read(1 << 24)
        fields = [("Content-Type", "application/json")]
        fields += [(name.replace("_", "-"), value) for name, value in headers.items()]
        body = f'{{"code":"{code}","message":"{message}"}}'.encode()
        return http.Response(status, fields, body)

    return fault


def html(status: int) -> Fault:
    """A page of a proxy instead of the call."""

    async def fault(request: http.Request, proceed: Callable[[], Awaitable[Answer]]) -> Answer:
        await request.read(1 << 24)
        return http.Response(status, [("Content-Type", "text/html")], b"<html>no</html>")

    return fault


async def lose_reply(request: http.Request, proceed: Callable[[], Awaitable[Answer]]) -> Answer:
    """The server does it; the answer never arrives."""
    await proceed()
    return http.Response(502, [("Content-Type", "text/html")], b"<html>bad gateway</html>")


class FaultyFleet:
    """The fleet server behind a handler that can go wrong, and a log of the calls."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.server = FleetServer(open_memory(), _tokens(TOKEN), clock=clock)
        self.calls: list[tuple[float, str]] = []
        self.faults: dict[str, list[Fault]] = {}
        self.always: Fault | None = None

    async def handle(self, request: http.Request) -> Answer:
        name = request.path.rsplit("/", 1)[-1]
        self.calls.append((self.clock.monotonic(), name))

        async def proceed() -> Answer:
            return await self.server.handle(request)

        if self.always is not None:
            return await self.always(request, proceed)
        if waiting := self.faults.get(name):
            return await waiting.pop(0)(request, proceed)
        return await proceed()

    def fail(self, operation: str, *faults: Fault) -> None:
        """Let the next calls of an operation go wrong, one fault each."""
        self.faults.setdefault(operation, []).extend(faults)

    def accept(self, token: str) -> None:
        """Rotate the token."""
        self.server._tokens = _tokens(token)

    @property
    def names(self) -> list[str]:
        """The names of the pipelines it has."""
        return [each.name for each in self.server.pipelines.list_all()]

    def count(self, operation: str = "") -> int:
        """How many calls came."""
        return sum(1 for _, name in self.calls if not operation or name == operation)

    def put(self, name: str, contents: str = SCRAPE, **more: Any) -> str:
        """Make or change a pipeline behind the operator's back; returns its id."""
        message = {"name": name, "contents": contents, **more}
        planned = self.server.pipelines.plan_upsert(message, "2026-01-01T00:00:00Z")
        self.server.pipelines.store(planned, "2026-01-01T00:00:00Z")
        return planned.id


def _tokens(token: str) -> Tokens:
    return Tokens({token: frozenset(Scope)})


class World(VirtualTime):
    """Everything a scenario needs."""

    def __init__(self, clock: VirtualClock, network: http.MemoryNetwork, client: Client) -> None:
        super().__init__(clock, turns=400, limit_s=120.0)
        self.network = network
        self.client = client
        self.fleet = FaultyFleet(clock)
        self.manager: Manager | None = None

    @contextlib.asynccontextmanager
    async def operator(self, **options: Any) -> AsyncIterator[Manager]:
        """The operator at work; `api` replaces the client, the rest goes to the default address."""
        api = options.pop("api", self.client)
        reader = options.pop("reader", None)
        address = None
        if options.pop("has_default", True):
            secret: Secret[str] = Secret(options.pop("token", TOKEN))
            address = Address("default", f"http://{FLEET_HOST}", "operator", secret, **options)
        manager = Manager(api, name="test", clock=self.clock, rng=random.Random(1))
        pipelines.register(
            manager,
            default=address,
            make_client=lambda at: self.network.client(name="operator"),
            rng=random.Random(2),
            reader=reader,
        )
        self.manager = manager
        async with manager.running():
            yield manager
            await self._finish(manager)
        self.manager = None

    async def _finish(self, manager: Manager) -> None:
        """Let reconciles under way end: they may wait for time, which stands still from now on.

        First what is ready runs: an event that is on its way may begin one.
        """
        await self.settle()
        while manager.next_work_s() == 0.0:
            await self._step(self.clock.monotonic() + 1.0)

    async def create(
        self, name_: str = "web", namespace: str = "default", /, **spec: Any
    ) -> dict[str, Any]:
        """Create a Pipeline, by the names of the manifest; `annotations` go to the metadata."""
        annotations = spec.pop("annotations", {})
        if "contentsFrom" not in spec:
            spec = {"contents": SCRAPE, "matchers": ["env=prod"], **spec}
        return await self.client.resource(Pipeline.KIND.gvr).create(
            {
                "apiVersion": Pipeline.KIND.api_version,
                "kind": "Pipeline",
                "metadata": {"name": name_, "namespace": namespace, "annotations": annotations},
                "spec": spec,
            }
        )

    async def patch(self, patch: dict[str, Any], name: str = "web") -> None:
        """Merge-patch a Pipeline."""
        await self.client.resource(Pipeline.KIND.gvr).patch(name, patch, namespace="default")

    async def delete(self, name: str = "web", namespace: str = "default") -> None:
        """Ask for a Pipeline's deletion."""
        await self.client.resource(Pipeline.KIND.gvr).delete(name, namespace)

    async def get(self, name: str = "web", namespace: str = "default") -> Pipeline:
        """A Pipeline as it is."""
        return await self.client.get(Pipeline, name, namespace)

    async def connect(self, name: str = "main", token: str = TOKEN, **spec: Any) -> None:
        """A FleetConnection with its Secret."""
        metadata = ObjectMeta(name=f"{name}-credentials", namespace="default")
        data = {"username": "tenant", "password": token}
        await self.client.create(KubeSecret(metadata=metadata, string_data=data))
        document = {
            "apiVersion": FleetConnection.KIND.api_version,
            "kind": "FleetConnection",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "url": f"http://{FLEET_HOST}",
                "secretRef": {"name": f"{name}-credentials"},
                "default": True,
                **spec,
            },
        }
        await self.client.resource(FleetConnection.KIND.gvr).create(document)

    async def ready(
        self, reason: str, name: str = "web", namespace: str = "default", within_s: float = 120.0
    ) -> Pipeline:
        """Wait until a Pipeline's Ready condition has a reason."""

        async def holds() -> Pipeline | None:
            pipeline = await self.get(name, namespace)
            return pipeline if condition(pipeline).reason == reason else None

        try:
            found: Pipeline = await self.until(holds, within_s=within_s)
        except AssertionError:
            pipeline = await self.get(name, namespace)
            raise AssertionError(f"waited for {reason}: {pipeline.status.conditions}") from None
        return found

    async def gone(self, name: str = "web", namespace: str = "default") -> None:
        """Wait until a Pipeline is gone."""

        async def holds() -> bool:
            try:
                await self.get(name, namespace)
            except NotFound:
                return True
            return False

        await self.until(holds)

    async def events(self) -> list[str]:
        """The reasons of the events about Pipelines, in order."""
        listed = await self.client.resource(EVENTS).list("default")
        return [str(item["reason"]) for item in listed]

    answer = staticmethod(answer)
    html = staticmethod(html)
    lose_reply = staticmethod(lose_reply)

    @staticmethod
    def condition(pipeline: Pipeline, type_: str = "Ready") -> Condition:
        """A condition, or a blank one."""
        return condition(pipeline, type_)

    def driver(self) -> ConnectClient:
        """The Connect client alone."""
        return ConnectClient(
            f"http://{FLEET_HOST}",
            username="operator",
            password=Secret(TOKEN),
            client=self.network.client(name="driver"),
            limiter=Limiter(100.0, 100, clock=self.clock),
            clock=self.clock,
        )

    def writes(self) -> float:
        """How many writes the Pipeline controller has made."""
        assert self.manager is not None
        return self.manager.metrics.registry.get_value("quarterdeck_writes_total", "pipeline")


def condition(pipeline: Pipeline, type_: str = "Ready") -> Condition:
    """A condition, or a blank one."""
    found = find(pipeline.status.conditions, type_)
    return found if found is not None else Condition(type=type_, status="Unknown")


@contextlib.asynccontextmanager
async def _world() -> AsyncIterator[World]:
    clock = VirtualClock()
    network = http.MemoryNetwork(clock=clock)
    store = open_memory(derive=decode_object_meta)
    api = ApiServer(store, clock=clock, rng=random.Random(3))
    await api.start()
    servers = [http.Server(api.handle, clock=clock)]
    url = network.serve(servers[0], API_HOST)
    async with (
        Supervisor("world") as tasks,
        Client(ClusterConfig(server=url), clock=clock, network=network) as client,
    ):
        tasks.spawn(api.run(), name="api")
        world = World(clock, network, client)
        servers.append(http.Server(world.fleet.handle, clock=clock))
        network.serve(servers[1], FLEET_HOST)
        await definitions.install(client.raw, KINDS)
        try:
            yield world
        finally:
            api.stop()
            for server in servers:
                await server.close()
    await store.close()


@pytest.fixture
def world() -> Callable[[], contextlib.AbstractAsyncContextManager[World]]:
    """Makes worlds."""
    return _world
