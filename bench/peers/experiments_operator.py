"""The experiments operator alone in a process, so that its memory can be read.

`python -m bench.peers.experiments_operator URL` prints `ready` when it has nothing to do, and ends
when its standard input ends.
"""

import asyncio
import gc
import sys

from bench.peers import experiments_hub as hubs
from quarterdeck.client import Client, ClusterConfig


async def _run(url: str) -> None:
    async with Client(ClusterConfig(server=url)) as client, hubs.operator(client) as manager:
        await hubs.wait_idle(manager)
        gc.collect()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1]))
