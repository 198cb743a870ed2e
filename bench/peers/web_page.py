"""The dashboard over many clusters and many objects.

`python -m bench.peers.web_page CLUSTERS OBJECTS` starts an API server with OBJECTS ConfigMaps and a
hub with CLUSTERS clusters, serves the dashboard on a free port of loopback and prints the address
of a one-time link. A line on its standard input is a number of updates a second and a number of
seconds, or `churn` and a number of updates to make as fast as possible, or `add` and a number for
one more ConfigMap; ConfigMaps are changed so, then it prints `done`.
"""

import asyncio
import contextlib
import itertools
import sys

from bench.peers.hub_viewers import TOKENS, write_cluster
from quarterdeck.app import embedded
from quarterdeck.app.cluster_factory import build_admin_config
from quarterdeck.app.dashboard import build_dashboard
from quarterdeck.app.hub_identity import Identity
from quarterdeck.app.identities import Identities
from quarterdeck.client import Client
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor, fan_out
from quarterdeck.meta.identity import GVR
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.services.hub.identity import Authenticator
from quarterdeck.services.hub.service import HubServer
from quarterdeck.services.hub.web.sessions import Sessions

CODE = "open"
_MAPS = GVR("", "v1", "configmaps")
_AT_ONCE = 32


async def _create(client: Client, number: int) -> None:
    await client.resource(_MAPS).create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"object-{number:05}", "namespace": "default"},
            "data": {"value": "0"},
        }
    )


class _Updates:
    """Gives ConfigMaps one key more or less, which their rows show; no two updates are alike."""

    def __init__(self, client: Client, count: int) -> None:
        self._maps = client.resource(_MAPS)
        self._count = count
        self._steps = itertools.count()

    async def update(self) -> None:
        step = next(self._steps)
        data = {"value": str(step), "more": "1" if step % 2 else None}
        name = f"object-{step * 7 % self._count:05}"
        await self._maps.patch(name, {"data": data}, namespace="default")

    async def run(self, rate: int, seconds: int) -> None:
        for _ in range(rate * seconds):
            await self.update()
            await asyncio.sleep(1 / rate / 2)

    async def churn(self, count: int) -> None:
        await fan_out(range(count), lambda _: self.update(), limit=_AT_ONCE)


async def _run(clusters: int, objects: int) -> None:
    clock = SystemClock()
    state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
    for number in range(clusters):
        await write_cluster(state, f"cluster-{number:04}", clock.now())
    async with contextlib.AsyncExitStack() as stack:
        root = User(name="root", groups=(MASTERS_GROUP,))
        plan = embedded.Plan(data_dir=None, port=0, identities=Identities(tokens={"root": root}))
        api = await embedded.start(plan, stack, clock=clock)
        config = build_admin_config("local", api)
        client = await stack.enter_async_context(Client(config, clock=clock))
        await fan_out(range(objects), lambda number: _create(client, number), limit=_AT_ONCE)
        tasks = await stack.enter_async_context(Supervisor("bench"))
        sessions = Sessions(clock=clock, links={CODE: "root"})
        identity = Identity(Authenticator(tokens=TOKENS), sessions, None, ())
        hub = HubServer(state, history, identity.authenticator, clock=clock)
        tasks.spawn(hub.run(), name="hub")
        dashboard = build_dashboard(
            hub.handle, config, identity=identity, clock=clock, is_loopback=True
        )
        stack.push_async_callback(dashboard.aclose)
        server = await stack.enter_async_context(http.Server(dashboard.handle, clock=clock))
        listener = await server.listen("127.0.0.1", 0)
        print(f"{listener.url}/login?code={CODE}", flush=True)
        updates = _Updates(client, objects)
        while line := await asyncio.to_thread(sys.stdin.readline):
            first, second = line.split()
            match first:
                case "churn":
                    await updates.churn(int(second))
                case "add":
                    await _create(client, int(second))
                case _:
                    await updates.run(int(first), int(second))
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), int(sys.argv[2])))
