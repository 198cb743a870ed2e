"""An API server asks before it writes: what does an answer cost, and how long does it take?"""

import tempfile
from contextlib import nullcontext
from pathlib import Path

from bench.peers.kind import GROUP, VERSION
from bench.peers.review_load import certificate_within
from bench.series import Figures, Missed, Run, Series, case, generator_case
from bench.suite import Case, Scale
from bench.workloads import contenders, stage
from bench.workloads.contenders import INFORMER, Command, Operators, without
from bench.workloads.stage import Operator, Stage
from quarterdeck.kit.free_port import find_free_port

_ABSENT = {INFORMER: "it has no webhooks"}
_PURPOSES = {
    "validate": "a webhook lets an object of 1 kB pass",
    "mutate": "a webhook fills in a field of an object of 1 kB",
}
_RATE_HZ = 300
_LATE_MS = 250.0
"""A load generator that is later than this did not keep the rate."""
_TLS = "16 connections over TLS that are kept, HTTP/1.1."


def cases(scale: Scale, operators: Operators) -> list[Case]:
    """Processor time and rate in a closed loop, latency in an open one."""
    count, seconds = scale.pick(50, 4_000, 4_000), scale.pick(0.2, 5.0, 5.0)
    runs = contenders.runs(
        without(operators, _ABSENT), lambda command: _run_of(command, count, seconds)
    )
    series = Series(lambda: nullcontext(runs), rounds=scale.pick(1, 5, 5), warms_up=False)
    found = []
    for purpose, what in _PURPOSES.items():
        found += [
            case(series, f"{what}, processor time", "CPU µs", f"{purpose}_us", note=_TLS),
            case(series, f"{what}, rate", "a second", f"{purpose}_hz", is_more_better=True),
            generator_case(series, f"{what}, rate", f"{purpose}_load"),
        ]
        for share in ("p50", "p99"):
            name = f"{what} at {_RATE_HZ} a second, {share}"
            found.append(case(series, name, "ms", f"{purpose}_{share}", note="Open loop."))
    return found


def _run_of(command: Command, count: int, seconds: float) -> Run:
    def run(figures: Figures) -> None:
        with stage.opened() as on, tempfile.TemporaryDirectory() as folder:
            certificate = certificate_within(Path(folder))
            port = find_free_port()
            with on.operator(command, f"--webhooks={port},{folder}") as operator:
                operator.ready()
                operator.go()
                on.ask("webhooks", port=port, certificate=str(certificate))
                for purpose in _PURPOSES:
                    _asked(on, operator, purpose, count, seconds, figures)

    return run


def _asked(
    on: Stage, operator: Operator, purpose: str, count: int, seconds: float, figures: Figures
) -> None:
    path = f"/{purpose}-{GROUP.replace('.', '-')}-{VERSION}-widget"
    on.ask("review", path=path, count=count // 4)  # warm
    before = operator.rest()
    answer = on.ask("review", path=path, count=count)
    figures |= {
        f"{purpose}_us": (operator.cpu_s() - before) / count * 1e6,
        f"{purpose}_hz": count / answer["seconds"],
        f"{purpose}_load": answer["generator_cpu_s"] / answer["seconds"] * 100,
    }
    operator.rest()
    delays = on.ask("review_at", path=path, rate_hz=_RATE_HZ, count=int(_RATE_HZ * seconds))
    if delays["late_ms"] > _LATE_MS:
        raise Missed(f"the load generator was {delays['late_ms']:.0f} ms late")
    figures |= {f"{purpose}_{share}": delays[f"{share}_ms"] for share in ("p50", "p99")}
