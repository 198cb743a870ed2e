"""Operators that do the same work on the same API server: ours against kopf.

Each round fills a fresh set of objects and starts an operator process; what it used between its
start (imports done) and the last status is its figure. The server runs on the other core.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.process import Child
from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite

_OPERATORS = "bench.peers.operators"
_POLL_S = 0.25
_LIMIT_S = 240.0


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(100, 1_000, 2_000)
    return [
        Case(
            name=f"{count} objects brought to their status, processor time",
            unit="CPU ms an object",
            open=lambda _: _operators(count, _cpu),
        ),
        Case(
            name=f"{count} objects brought to their status, memory",
            unit="MB at most",
            open=lambda _: _operators(count, _memory),
        ),
    ]


def _cpu(operator: Child, count: int, before_s: float) -> float:
    return (operator.cpu_s() - before_s) / count * 1e3


def _memory(operator: Child, count: int, before_s: float) -> float:
    return operator.memory_bytes("VmHWM") / 1e6


@contextmanager
def _operators(count: int, figure: Callable[[Child, int, float], float]) -> Iterator[Contenders]:
    with Child(["-m", f"{_OPERATORS}", "server"], core=0) as server:
        kubeconfig = server.line().strip()
        if not kubeconfig:
            raise RuntimeError("the API server did not start")
        contenders: dict[str, Measure | Missing] = {
            OURS: lambda: _round(server, "quarterdeck", kubeconfig, count, figure)
        }
        if importlib.util.find_spec("kopf") is None:
            contenders["kopf"] = Missing("kopf is not installed")
        else:
            contenders["kopf"] = lambda: _round(server, "kopf", kubeconfig, count, figure)
        yield contenders


def _round(
    server: Child,
    name: str,
    kubeconfig: str,
    count: int,
    figure: Callable[[Child, int, float], float],
) -> float:
    server.ask(f"fill {count}")
    with Child(["-m", _OPERATORS, name, kubeconfig], core=1) as operator:
        operator.line()
        before_s = operator.cpu_s()
        _send(operator)
        deadline = time.monotonic() + _LIMIT_S
        while int(server.ask("count")) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not bring {count} objects to their status")
            time.sleep(_POLL_S)
        return figure(operator, count, before_s)


def _send(operator: Child) -> None:
    """Let it go; it answers nothing."""
    stdin = operator._process.stdin
    assert stdin is not None
    stdin.write("go\n")
    stdin.flush()


SUITE = Suite(
    name="runtime",
    title="Operator runtime",
    cases=cases,
    versions=("kopf", "uvloop"),
    is_process=True,
)
