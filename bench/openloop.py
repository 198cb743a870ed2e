"""Open-loop load: requests leave when they are due, whether or not the server keeps up.

A latency counts from the moment a request was due, so a server that stalls cannot hide it by
slowing the generator down.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence


async def drive(
    send: Callable[[int], Awaitable[None]],
    *,
    rate_hz: float,
    count: int,
    seed: int = 1,
    due: Callable[[int, float], None] | None = None,
) -> tuple[list[float], float]:
    """Send `count` requests at random moments of the given mean rate.

    `due` is told of each moment, on the clock of the loop, before the request leaves. Returns the
    latencies in seconds, and the worst delay of the generator itself: if that is not far below the
    latencies, the generator was the limit and the run says nothing.
    """
    loop = asyncio.get_running_loop()
    gaps = random.Random(seed)
    latencies: list[float] = []
    worst = 0.0

    async def one(number: int, moment: float) -> None:
        await send(number)
        latencies.append(loop.time() - moment)

    moment = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            moment += gaps.expovariate(rate_hz)
            if (wait := moment - loop.time()) > 0:
                await asyncio.sleep(wait)
            worst = max(worst, loop.time() - moment)
            if due is not None:
                due(number, moment)
            group.create_task(one(number, moment))
    return latencies, worst


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
