"""A server with the kind on it, a load generator, and operators that come and go."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from bench import accounting
from bench.peers import api_servers
from bench.peers.api_servers import LOAD_CORE, SERVER_CORE, ApiServer
from bench.process import Child
from bench.series import Missed
from bench.workloads.contenders import Command

Start = Callable[[Path], ApiServer]

LIMIT_S = 120.0
"""How long an operator may take for a workload, unless that says something else."""

_STARTS = 3
_LOOK_S = 5.0
_END_LIMIT_S = 30.0
_END_POLL_S = 0.002
_REASON_LENGTH = 120
_IDLE_WINDOW_S = 0.5
_IDLE_SHARE = 0.02
_IDLE_LIMIT_S = 60.0

UNTIL_IDLE = (
    "Measured until the operator rests: less than 2 % of a core in half a second after the last"
    " status, so what it does about its own writes counts too."
)
OF_ITS_OWN = (
    "At rest, without pages of libraries that other processes have loaded as well, as the server"
    " here has: what one more operator on a node takes."
)


class Operator:
    """An operator process, seen from outside."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.pid = child.pid

    def ready(self) -> None:
        """Wait until everything is imported."""
        if not self._child.line():
            raise Missed("it ended before it was ready")

    def go(self) -> None:
        """Let it begin."""
        self._child.send("go")

    @property
    def has_ended(self) -> bool:
        """Whether the process is no more."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def check(self) -> None:
        """Raise `Missed` if it has ended."""
        if self.has_ended:
            raise Missed("it ended")

    def end(self, how: signal.Signals) -> None:
        """Send it a signal that ends it, and wait for that."""
        os.kill(self.pid, how)
        limit = time.monotonic() + _END_LIMIT_S
        while not self.has_ended:
            if time.monotonic() > limit:
                raise Missed(f"it did not end within {_END_LIMIT_S:.0f} s of {how.name}")
            time.sleep(_END_POLL_S)

    def cpu_s(self) -> float:
        """Processor time so far."""
        self.check()
        return accounting.cpu_s(self.pid)

    def memory_mb(self, field: str = "VmHWM") -> float:
        """Memory, at most so far unless another field is named."""
        return accounting.memory_bytes(self.pid, field) / 1e6

    def private_mb(self) -> float:
        """Memory that no other process shares, now."""
        return accounting.private_bytes(self.pid) / 1e6

    def files(self) -> int:
        """How many file descriptors it has."""
        return accounting.descriptors(self.pid)

    def threads(self) -> int:
        """How many threads it has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def rest(self) -> float:
        """Wait until it does next to nothing; returns its processor time then."""
        limit = time.monotonic() + _IDLE_LIMIT_S
        before = self.cpu_s()
        while time.monotonic() < limit:
            time.sleep(_IDLE_WINDOW_S)
            now = self.cpu_s()
            if now - before < _IDLE_SHARE * _IDLE_WINDOW_S:
                return now
            before = now
        raise Missed(f"it did not come to rest within {_IDLE_LIMIT_S:.0f} s")


class Stage:
    """Where an operator is measured: on a core of its own, the rest on the other."""

    def __init__(self, server: ApiServer, generator: Child) -> None:
        self.server = server
        self._generator = generator
        if not generator.line():
            raise Missed("the load generator did not start")

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Have the generator do something."""
        line = self._generator.ask(json.dumps({"do": do, **arguments}))
        answer: dict[str, Any] = json.loads(line or '{"error": "it ended"}')
        if "error" in answer:
            raise Missed(f"the load generator failed: {answer['error'][:_REASON_LENGTH]}")
        return answer

    @contextmanager
    def operator(self, command: Command, *settings: str, quiet: bool = False) -> Iterator[Operator]:
        """A process of an operator; it waits for `go`."""
        full = [*command, *settings, str(self.server.kubeconfig)]
        with Child(full, core=LOAD_CORE, quiet=quiet) as child:
            yield Operator(child)

    def settled(self, operator: Operator, *, limit_s: float = LIMIT_S) -> float:
        """Wait until the operator has given every object its status; returns the seconds."""
        spent_s = 0.0
        while spent_s < limit_s:
            answer = self.ask("settled", limit_s=min(_LOOK_S, limit_s - spent_s))
            spent_s += float(answer["seconds"])
            if not answer["missing"]:
                return spent_s
            operator.check()
        raise Missed(f"{answer['missing']:,} objects had no status after {limit_s:.0f} s")


@contextmanager
def opened(start: Start = api_servers.start_ours) -> Iterator[Stage]:
    """A server of its own, with nothing but the kind on it."""
    with ExitStack() as stack:
        server = _started(start, stack)
        if start is api_servers.start_ours:  # kube-apiserver is made for every core
            server.pin(SERVER_CORE)
        command = ["-m", "bench.peers.operator_load", str(server.kubeconfig)]
        stage = Stage(server, stack.enter_context(Child(command, core=SERVER_CORE)))
        stage.ask("setup")
        yield stage


def _started(start: Start, stack: ExitStack) -> ApiServer:
    """A port that was free may be taken a moment later: try again."""
    for _ in range(_STARTS - 1):
        with suppress(RuntimeError):
            return stack.enter_context(api_servers.one(start))
    return stack.enter_context(api_servers.one(start))
