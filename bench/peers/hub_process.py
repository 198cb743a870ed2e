"""A hub that watches many clusters: API server, operator and store in one process.

`python -m bench.peers.hub_process CLUSTERS INTERVAL PORT AUTHORITY` connects CLUSTERS clusters of
`cluster_sim` at PORT, prints `ready` when each was read once, and then answers each line on its
standard input with one line of JSON: processor seconds, visits, and how late they were.
"""

import asyncio
import base64
import contextlib
import random
import sys
import time
from typing import Any

from quarterdeck.apis.clusterpulse.v1alpha1 import GROUP, KINDS
from quarterdeck.app import cluster_samples, definitions
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import GVR
from quarterdeck.operators import clusters
from quarterdeck.operators.clusters import HubOptions
from quarterdeck.runtime import Manager
from quarterdeck.server.api import ApiServer
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_memory
from quarterdeck.testing.poll import eventually

_CONNECTIONS = GVR(GROUP, "v1alpha1", "clusterconnections")
_SECRETS = GVR("", "v1", "secrets")
_AT_ONCE = 50


class Late:
    """How late visits were since it was last asked."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def note(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def report(self) -> dict[str, Any]:
        found, self.seconds = sorted(self.seconds), []
        p99 = found[int(len(found) * 0.99)] if found else 0.0
        return {
            "cpu_s": time.process_time(),
            "visits": len(found),
            "p50": found[len(found) // 2] if found else 0.0,
            "p99": p99,
            "max": found[-1] if found else 0.0,
        }


async def _connect(
    client: Client, number: int, *, port: int, authority: str, interval: int
) -> None:
    name = f"c{number}"
    await client.resource(_SECRETS).create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{name}-credentials", "namespace": "default"},
            "data": {"token": base64.b64encode(b"token").decode(), "ca.crt": authority},
        }
    )
    await client.resource(_CONNECTIONS).create(
        {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "ClusterConnection",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "endpoint": f"https://127.0.0.1:{port}/{number}",
                "credentialsRef": {"name": f"{name}-credentials"},
                "monitoring": {"interval": interval},
            },
        }
    )


async def _run(count: int, interval: int, port: int, authority: str) -> None:
    clock = SystemClock()
    api = ApiServer(open_memory(derive=decode_object_meta), clock=clock, rng=random.Random(1))
    await api.start()
    network = http.MemoryNetwork(clock=clock)
    server = http.Server(api.handle, clock=clock)
    url = network.serve(server, "localhost")
    state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
    late = Late()
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(ClusterConfig(server=url), clock=clock, network=network)
        )
        tasks = await stack.enter_async_context(Supervisor("bench"))
        tasks.spawn(api.run(), name="api")
        await definitions.install(client.raw, KINDS)
        manager = Manager(client, name="bench", clock=clock)
        hub = clusters.register(
            manager, state=state, history=history, options=HubOptions(interval_s=interval)
        )
        hub.metrics.on_lag = late.note
        await stack.enter_async_context(manager.running())
        # Spread over the interval, as a fleet that grew over months is.
        for number in range(count):
            await _connect(client, number, port=port, authority=authority, interval=interval)
            await asyncio.sleep(min(0.05, interval / count))
        await definitions.apply(client.raw, cluster_samples.DEFAULT_METRIC_SOURCES)
        await eventually(
            lambda: sum(each.collected is not None for each in hub.seen.values()) == count,
            within_s=300.0,
            every_s=0.1,
        )
        tune_gc()
        print("ready", flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            report = late.report()
            report["healthy"] = sum(not each.failure for each in hub.seen.values())
            print(json.encode(report).decode(), flush=True)


def main() -> None:
    count, interval, port = map(int, sys.argv[1:4])
    with open(sys.argv[4], "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    try:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(count, interval, port, authority))
    except ImportError:
        asyncio.run(_run(count, interval, port, authority))


if __name__ == "__main__":
    main()
