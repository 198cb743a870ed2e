"""Many agents that push to one ingester, each on a connection of its own.

`python -m bench.peers.hub_agents AGENTS ROWS INTERVAL PORT FOLDER` connects all of them, prints
`ready`, and lets each push a batch of ROWS resources every INTERVAL seconds, spread evenly. A line
of input `reset` forgets the times so far; any other line is answered with how long acknowledgements
took since then, in milliseconds.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from bench.peers.hub_ingester import SOURCE, name_cluster
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.push.codec import decode_response, encode_request
from quarterdeck.inventory.push.descriptors import METHOD
from quarterdeck.inventory.push.messages import (
    ClusterMetrics,
    ConnectRequest,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
    RegisterRequest,
)
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.tasks import Supervisor

NODES = 10
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # else all channels share one connection
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.ssl_target_name_override", "localhost"),
)


class Times:
    """How long acknowledgements took."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.refused = 0

    def report(self) -> dict[str, float]:
        """Percentiles, and how many there were."""
        ordered = sorted(self.ms) or [float("inf")]
        return {
            "batches": len(self.ms),
            "refused": self.refused,
            "p50": ordered[len(ordered) // 2],
            "p99": ordered[int(len(ordered) * 0.99)],
        }


class Agent:
    """One agent on its own connection."""

    def __init__(self, number: int, token: str, *, port: int, authority: bytes) -> None:
        self.cluster = name_cluster(number)
        credentials = grpc.ssl_channel_credentials(authority)
        self._channel = grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, _OPTIONS)
        metadata = (("authorization", f"Bearer {token}"),)
        self._call: Any = self._channel.stream_stream(METHOD)(metadata=metadata)
        self._sequence = 0

    async def register(self) -> None:
        request = RegisterRequest(cluster_name=self.cluster, version="bench", agent_id="bench")
        await self._call.write(encode_request(ConnectRequest(register=request)))
        await self._call.read()

    async def push(self, template: MetricsBatch) -> bool:
        """Send a batch and wait for its acknowledgement."""
        self._sequence += 1
        fields = {name: getattr(template, name) for name in MetricsBatch.__struct_fields__}
        batch = MetricsBatch(
            **fields
            | {
                "batch_id": f"b{self._sequence}",
                "agent_id": "bench",
                "sequence": self._sequence,
                "collected_at": SystemClock().now(),
            }
        )
        await self._call.write(encode_request(ConnectRequest(metrics=batch)))
        while True:
            data = await self._call.read()
            if data is grpc.aio.EOF:
                return False
            ack = decode_response(data).ack
            if ack is not None:
                return bool(ack.success)

    async def close(self) -> None:
        self._call.cancel()
        await self._channel.close()


def build_template(rows: int) -> MetricsBatch:
    """A cluster of ten nodes and the rows of one MetricSource."""
    found = tuple(
        CustomCollectedResource(
            id=f"team-{index % 20}/pod-{index}",
            namespace=f"team-{index % 20}",
            name=f"pod-{index}",
            labels={"app": f"app-{index % 50}", "tier": "backend"},
            values_json=b'{"phase":"Running","cpu":0.25,"memory":268435456}',
        )
        for index in range(rows)
    )
    source = CustomResourceBatch(
        source_id="/".join(SOURCE),
        resource_count=rows,
        resources=found,
        aggregation_values={"pods": float(rows)},
    )
    return MetricsBatch(
        cluster_metrics=ClusterMetrics(nodes=NODES, nodes_ready=NODES, namespace_list=("default",)),
        node_metrics=tuple(
            NodeFacts(name=f"node-{index}", timestamp="", status="Ready", roles=("worker",))
            for index in range(NODES)
        ),
        custom_resources=(source,),
    )


async def _push_forever(
    agent: Agent, template: MetricsBatch, times: Times, *, first_s: float, every_s: float
) -> None:
    """Push at fixed moments: an answer that is late delays no later batch's moment."""
    due = time.monotonic() + first_s
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        is_stored = await agent.push(template)
        times.refused += not is_stored
        times.ms.append((time.monotonic() - due) * 1000)
        due += every_s


async def _run(arguments: Sequence[str]) -> None:
    count, rows, every_s = int(arguments[0]), int(arguments[1]), float(arguments[2])
    port, folder = int(arguments[3]), Path(arguments[4])
    authority = (folder / "authority.crt").read_bytes()
    tokens = json.decode((folder / "tokens.json").read_bytes())
    times, template = Times(), build_template(rows)
    agents = [
        Agent(number, tokens[number], port=port, authority=authority) for number in range(count)
    ]
    for agent in agents:
        await agent.register()
    tune_gc()
    async with Supervisor("agents") as tasks:
        for number, agent in enumerate(agents):
            work = _push_forever(
                agent, template, times, first_s=every_s * number / count, every_s=every_s
            )
            tasks.spawn(work, name=f"agent-{number}")
        print("ready", flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            if line.strip() == "reset":
                times.ms.clear()
                times.refused = 0
                print("{}", flush=True)
            else:
                print(json.encode(times.report()).decode(), flush=True)
    for agent in agents:
        await agent.close()


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1:]))
