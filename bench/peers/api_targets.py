"""API servers with a load generator each, and something to read on them."""

import atexit
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bench import profiling
from bench.peers import api_servers
from bench.peers.api_servers import LOAD_CORE, ApiServer
from bench.process import Child
from bench.suite import Missing

SEEDED = 100
"""Objects that are there before reads and patches are measured."""


class Target:
    """A server and the load generator that was started for it."""

    def __init__(self, server: ApiServer, generator: Child) -> None:
        self.server = server
        self._generator = generator
        self._rounds = 0

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Have the generator do something."""
        answer: dict[str, Any] = json.loads(
            self._generator.ask(json.dumps({"do": do, **arguments})) or '{"error": "it ended"}'
        )
        if "error" in answer:
            raise RuntimeError(f"load generator: {answer['error']}")
        return answer

    def prefix(self) -> str:
        """Names nobody has used yet."""
        self._rounds += 1
        return f"r{self._rounds}-"

    def cost_s(self, do: str, **arguments: Any) -> float:
        """Processor seconds the server needs for it."""
        before = self.server.cpu_s()
        self.ask(do, **arguments)
        return self.server.cpu_s() - before


def generator_for(server: ApiServer, stack: ExitStack, *, url: str = "") -> Target:
    command = ["-m", "bench.peers.api_load", str(server.kubeconfig), *([url] if url else [])]
    generator = stack.enter_context(Child(command, core=LOAD_CORE))
    if not generator.line():
        raise RuntimeError("the load generator did not start")
    return Target(server, generator)


@contextmanager
def opened(*, fill: int = 0, plain: bool = False) -> Iterator[dict[str, Target | Missing]]:
    """The servers with the custom kind defined and `fill` objects of it."""
    with api_servers.started() as servers, ExitStack() as stack:
        targets: dict[str, Target | Missing] = {}
        for name, server in servers.items():
            if isinstance(server, Missing):
                targets[name] = server
                continue
            if plain and not server.plain_url:
                targets[name] = Missing("it has no port without TLS")
                continue
            target = generator_for(server, stack, url=server.plain_url if plain else "")
            target.ask("setup")
            if fill:
                target.ask("create", count=fill, clients=32)
            targets[name] = target
        yield targets


class Stage:
    """Servers that cases use one after the other, since starting them costs more than measuring.

    The first case starts them and the last one ends them; with profiles each has its own.
    """

    def __init__(self) -> None:
        self.uses = 0
        self._stack = ExitStack()
        self._targets: dict[str, Target | Missing] | None = None

    @contextmanager
    def targets(self) -> Iterator[dict[str, Target | Missing]]:
        """The servers, each with 100 objects."""
        if profiling.is_wanted():
            with opened(fill=SEEDED) as targets:
                yield targets
            return
        if self._targets is None:
            self._targets = self._stack.enter_context(opened(fill=SEEDED))
            atexit.register(self._stack.close)
        yield self._targets
        self.uses -= 1
        if not self.uses:
            self._stack.close()
