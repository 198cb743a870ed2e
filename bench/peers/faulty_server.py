"""Our API server with faults that come and go: `python -m bench.peers.faulty_server PORT`.

`PUT /bench/faults/NAME` begins one and ends the one before; the name `none` only ends. The load
generator is spared, so that it sees the truth. Plain HTTP and nothing on disk: no figure of this
server counts.
"""

import asyncio
import random
import sys

from bench.peers.api_load import run
from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.testing import server_faults as faults
from quarterdeck.testing.server_faults import ANY_VERB, Answer, Proceed, ServerFaults, ServerRule
from quarterdeck.wire.path import ResourcePath

CONTROL = "/bench/faults/"
_SPARED = "bench"
_LINES = 300
_SHARE = 0.2
_STALL_EVERY_S, _STALL_S = 3.0, 1.0


class Sometimes(ServerRule):
    """A rule that strikes a share of what it could, by a seed."""

    def __init__(self, rule: ServerRule, seed: int = 1) -> None:
        super().__init__(rule.verb, rule.inject)
        self._random = random.Random(seed)

    def matches(self, verb: str, path: ResourcePath) -> bool:
        return self._random.random() < _SHARE and super().matches(verb, path)


def stalls() -> ServerRule:
    """Every few seconds the server answers nothing for a while."""

    async def inject(proceed: Proceed) -> Answer:
        loop = asyncio.get_running_loop()
        if (left := _STALL_S - loop.time() % _STALL_EVERY_S) > 0:
            await asyncio.sleep(left)
        return await proceed()

    return ServerRule(ANY_VERB, inject)


def rules(name: str) -> list[ServerRule]:
    """What a fault consists of."""
    match name:
        case "none":
            return []
        case "cut":
            return [faults.cut_watch(_LINES)]
        case "410":
            return [faults.expire_watch(after_lines=_LINES, times=None)]
        case "429":
            return [Sometimes(faults.fail("patch", 429, times=None, retry_after_s=1))]
        case "500":
            return [Sometimes(faults.fail(ANY_VERB, 500, times=None))]
        case "lost":
            return [Sometimes(faults.lose_reply("patch", times=None))]
        case "stall":
            return [stalls()]
    raise ValueError(f"no fault is called {name!r}")


class Faulty:
    """Stands between the sockets and the server."""

    def __init__(self) -> None:
        self.cluster: Cluster | None = None
        self._faults = ServerFaults()

    def __call__(self, handler: http.Handler) -> http.Handler:
        injected = self._faults(handler)

        async def handle(request: http.Request) -> Answer:
            if request.path.startswith(CONTROL):
                self._begin(request.path.removeprefix(CONTROL))
                return http.Response(200, [], b"{}")
            if request.headers.get("user-agent") == _SPARED:
                return await handler(request)
            return await injected(request)

        return handle

    def _begin(self, name: str) -> None:
        """Put other rules in force, for watches too: those that run are ended."""
        self._faults.rules[:] = rules(name)
        if self.cluster is not None:
            for stream in tuple(self.cluster.api.core.streams):
                stream.close()


async def _main(port: int) -> None:
    faulty = Faulty()
    async with Cluster(port=port, faults=faulty) as faulty.cluster:
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(_main(int(sys.argv[1])))
