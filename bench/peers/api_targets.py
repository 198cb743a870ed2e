"""API servers with a load generator each, and something to read on them.

Ours is one thread that works and one that syncs, so it is kept on one core and the generator on the
other; kube-apiserver and etcd have a thread for each core and may use them all.
"""

import atexit
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import profiling
from bench.peers import api_servers
from bench.peers.api_servers import LOAD_CORE, SERVER_CORE, ApiServer
from bench.process import Child
from bench.series import Missed
from bench.suite import OURS, Missing

SEEDED = 100
"""Objects that are there before reads and patches are measured."""

Starter = Callable[[Path], ApiServer]


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


Targets = dict[str, Target | Missing]


@contextmanager
def target(name: str, start: Starter, *, fill: int = 0, plain: bool = False) -> Iterator[Target]:
    """One server of its own, with the custom kind defined and `fill` objects of it.

    Raises:
        Missed: if a peer fails under the load; that ends nothing but itself.
    """
    with api_servers.one(start) as server, ExitStack() as stack:
        if name == OURS:
            server.pin(SERVER_CORE)
        url = [server.plain_url] if plain else []
        command = ["-m", "bench.peers.server_load", str(server.kubeconfig), *url]
        generator = stack.enter_context(Child(command, core=LOAD_CORE))
        if not generator.line():
            raise RuntimeError("the load generator did not start")
        found = Target(server, generator)
        found.ask("setup")
        if fill:
            found.ask("create", count=fill, clients=32)
        try:
            yield found
        except RuntimeError as error:
            if name == OURS:
                raise
            raise Missed(str(error)) from error


@contextmanager
def opened(*, fill: int = 0, plain: bool = False) -> Iterator[Targets]:
    """The servers, all at once: they are idle while another one is measured."""
    with ExitStack() as stack:
        targets: Targets = {}
        for name, start in api_servers.starters().items():
            if isinstance(start, Missing):
                targets[name] = start
            elif plain and name != OURS:
                targets[name] = Missing("it has no port without TLS")
            else:
                targets[name] = stack.enter_context(target(name, start, fill=fill, plain=plain))
        yield targets


class Stage:
    """Servers that cases use one after the other, since starting them costs more than measuring.

    The first case starts them and `close` ends them; with profiles each has its own.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._targets: Targets | None = None

    @contextmanager
    def targets(self) -> Iterator[Targets]:
        """The servers, each with 100 objects."""
        if profiling.is_wanted():
            with opened(fill=SEEDED) as targets:
                yield targets
            return
        if self._targets is None:
            self._targets = self._stack.enter_context(opened(fill=SEEDED))
            atexit.register(self.close)
        yield self._targets

    def close(self) -> None:
        """End the servers; the next use would start new ones."""
        self._stack.close()
        self._targets = None
