"""What a legal request that asks for much work costs everybody else.

The figure is the longest answer to a tiny GET while the request is served. The goal is 250 ms;
where the server refuses by size, that is the answer that is measured. No peer is measured: the
bound is a promise of SECURITY.md, not a race.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.peers.api_servers import ApiServer, one, start_ours
from bench.series import Figures, Runs, Series, case
from bench.suite import OURS, Case, Scale, Suite
from bench.suites.up import FLAGS
from bench.workloads import admission_stalls, large_answers, stalls
from quarterdeck.kit.free_port import find_free_port

Start = Callable[[Path], ApiServer]


def cases(scale: Scale) -> Sequence[Case]:
    share = scale.pick(quick=0.02, standard=1.0, full=1.0)
    rounds = scale.pick(quick=1, standard=2, full=3)
    requests = [stalls.build_idle_attack(), *stalls.list_attacks(share)]
    pipelines = [stalls.build_pipeline_attack(int(15_000 * share))]
    answers = large_answers.list_attacks(share)
    policies = admission_stalls.list_attacks(share)
    audit = [admission_stalls.build_audit_attack(share)]
    return [
        *_build_cases(requests, start_ours, rounds),
        *_build_cases(answers, start_ours, rounds),
        *_build_cases(policies, start_simulated, rounds),
        *_build_cases(audit, start_audited, rounds),
        *_build_cases(pipelines, start_up, rounds),
    ]


def _build_cases(attacks: Sequence[stalls.Attack], start: Start, rounds: int) -> list[Case]:
    series = Series(lambda: _measuring(attacks, start), rounds=rounds, warms_up=False)
    note = "the longest tiny GET meanwhile"
    return [case(series, each.name, "ms", each.name, note=note) for each in attacks]


@contextmanager
def _measuring(attacks: Sequence[stalls.Attack], start: Start) -> Iterator[Runs]:
    """Each round has a server of its own: what the last one left behind would change the next."""

    def run(figures: Figures) -> None:
        with one(start) as server:
            stalls.prepare_server(server.plain_url)
            for attack in attacks:
                figures[attack.name] = stalls.measure_stall(server.plain_url, attack)

    yield {OURS: run}


def start_simulated(folder: Path) -> ApiServer:
    """`quarterdeck server` with simulated workloads: Deployments get pods."""
    return start_ours(folder, "--simulate-workloads")


def start_audited(folder: Path) -> ApiServer:
    """`quarterdeck server` with an audit log that holds the objects of pods."""
    policy = admission_stalls.write_audit_policy(folder)
    log = folder / "audit.log"
    return start_ours(folder, "--audit-policy-file", str(policy), "--audit-log-path", str(log))


def start_up(folder: Path) -> ApiServer:
    """`quarterdeck up`: the API server and the operators in one process."""
    port, plain = find_free_port(), find_free_port()
    server = ApiServer(
        f"https://127.0.0.1:{port}",
        folder / "data" / "kubeconfig",
        plain_url=f"http://127.0.0.1:{plain}",
    )
    flags = dict.fromkeys(FLAGS, "0") | {"--port": str(port), "--http-port": str(plain)}
    words = [word for pair in flags.items() for word in pair]
    command = [sys.executable, "-m", "quarterdeck.cli", "up", "--data-dir", str(folder / "data")]
    began = time.monotonic()
    server.run([*command, *words], log=folder / "up.log")
    try:
        server.wait_ready(began)
    except BaseException:
        server.close()
        raise
    return server


SUITE = Suite(
    name="stall",
    title="What a legal request that asks for much work costs everybody else",
    cases=cases,
    versions=("uvloop", "msgspec", "PyYAML"),
    is_process=True,
)
