"""Objects change while the server misbehaves: is work lost or done twice, how long does it take?"""

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from bench.peers.api_servers import ApiServer
from bench.series import Figures, Missed, Run, Series, case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import INFORMER, Command, Operators, without
from bench.workloads.stage import Operator, Stage
from quarterdeck.kit.free_port import find_free_port

_ABSENT = {INFORMER: "it retries nothing"}
_RATE_HZ = 100
_LIMIT_S = 60.0
_ROUNDS = 5


class Fault(NamedTuple):
    """A fault of `peers.faulty_server`, and how it is told."""

    name: str
    what: str


_FAULTS = (
    Fault("cut", "watches are cut in the middle of a line, each after 300"),
    Fault("410", "watches end with 410, each after 300 lines"),
    Fault("429", "a fifth of all patches gets 429 and Retry-After 1"),
    Fault("500", "a fifth of all requests gets 500"),
    Fault("lost", "a fifth of all patches is done, but the answer is lost"),
    Fault("stall", "the server stalls for 1 s of every 3"),
)


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """What is missing, how long a change waits at most, and how many writes it needs."""
    faults = _FAULTS if scale is not Scale.QUICK else _FAULTS[3:4]
    seconds, objects = scale.pick((0.5, 20), (6.0, 200), (6.0, 200))
    runs = contenders.runs(
        without(operators, _ABSENT),
        lambda command: _run_of(command, faults, seconds, objects=objects),
    )
    series = Series(
        lambda: nullcontext(runs), rounds=scale.pick(1, _ROUNDS, _ROUNDS), warms_up=False
    )
    during = f"{_RATE_HZ} changes a second for {seconds:g} s while "
    longest = f"From the event of a change to that of its status. {_ROUNDS} rounds."
    found = []
    for name, what in faults:
        found += [
            case(
                series,
                f"{what}: statuses missing",
                "objects",
                f"{name}_missing",
                note=during + what,
            ),
            case(series, f"{what}: the longest wait", "s", f"{name}_s", note=longest),
            case(series, f"{what}: writes", "a change", f"{name}_writes"),
        ]
    return found


def _run_of(command: Command, faults: Sequence[Fault], seconds: float, *, objects: int) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened(start) as on:
            on.ask("create", count=objects, clients=32)
            on.ask("observe")
            with on.operator(command, quiet=True) as operator:
                operator.ready()
                operator.go()
                on.settled(operator)
                operator.rest()
                for fault in faults:
                    changes = int(_RATE_HZ * seconds)
                    _suffer(on, operator, fault.name, changes, of=objects, figures=figures)

    return run


def _suffer(
    on: Stage, operator: Operator, fault: str, changes: int, *, of: int, figures: Figures
) -> None:
    before = on.ask("writes")["writes"]
    on.ask("fault", name=fault)
    on.ask("touch", rate_hz=_RATE_HZ, count=changes, of=of)
    on.ask("fault", name="none")
    answer = on.ask("settled", limit_s=_LIMIT_S)
    figures[f"{fault}_missing"] = answer["missing"]
    if answer["missing"]:
        operator.check()
        raise Missed(f"{answer['missing']} statuses were missing {_LIMIT_S:.0f} s after {fault}")
    figures[f"{fault}_s"] = on.ask("delays")["longest_s"]
    operator.rest()
    written = on.ask("writes")["writes"] - before - changes
    figures[f"{fault}_writes"] = written / changes


def start(folder: Path) -> ApiServer:
    """A server whose faults the generator commands."""
    port = find_free_port()
    url, kubeconfig = f"http://127.0.0.1:{port}", folder / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG.format(url=url))
    server = ApiServer(url, kubeconfig)
    began = time.monotonic()
    command = [sys.executable, "-m", "bench.peers.faulty_server", str(port)]
    server.run(command, log=folder / "server.log")
    server.wait_ready(began)
    return server


_KUBECONFIG = """apiVersion: v1
kind: Config
current-context: bench
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
users: [{{name: bench, user: {{}}}}]
clusters: [{{name: bench, cluster: {{server: "{url}"}}}}]
"""
