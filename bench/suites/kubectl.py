"""What a user of kubectl waits for: kubectl's own wall time, against our server and the real one.

Most of it is kubectl itself, as the command that asks no server shows; it is there to tell how far
apart two equal things are measured. The home folder keeps kubectl's caches, as a user's does.
"""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.peers import api_servers
from bench.peers.api_servers import ApiServer
from bench.series import Figures, Run, Runs, Series, case
from bench.suite import Case, Missing, Scale, Suite

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{k: '{value}'}}\n"
COLD = "kubectl get of a namespace's pods, caches empty"

Command = Callable[[int], tuple[Sequence[str], str]]
"""The arguments and the input of the n-th run."""

COMMANDS: Mapping[str, Command] = {
    "kubectl, asking no server": lambda _: (("version", "--client"), ""),
    "kubectl get of a namespace's pods": lambda _: (("get", "pods"), ""),
    COLD: lambda _: (("get", "pods"), ""),
    "kubectl apply of a new ConfigMap": lambda n: (
        ("apply", "-f", "-"),
        CONFIG_MAP.format(name=f"new-{n}", value="a"),
    ),
    "kubectl apply of a changed ConfigMap": lambda n: (
        ("apply", "-f", "-"),
        CONFIG_MAP.format(name="one", value=str(n)),
    ),
    "kubectl apply, server-side, of a changed ConfigMap": lambda n: (
        ("apply", "--server-side", "-f", "-"),
        CONFIG_MAP.format(name="two", value=str(n)),
    ),
    "kubectl create of a Deployment": lambda n: (
        ("create", "deployment", f"web-{n}", "--image=nginx"),
        "",
    ),
    "kubectl explain of a pod's containers": lambda _: (("explain", "pod.spec.containers"), ""),
}


def cases(scale: Scale) -> Sequence[Case]:
    """All commands on one pair of servers, which take turns."""
    runs = scale.pick(1, 3, 5)
    series = Series(lambda: _users(runs), rounds=scale.pick(1, 5, 9))
    return [case(series, name, "ms", name) for name in COMMANDS]


@contextmanager
def _users(runs: int) -> Iterator[Runs]:
    program = shutil.which("kubectl")
    if program is None:
        yield {name: Missing("kubectl is not installed") for name in api_servers.starters()}
        return
    with api_servers.started() as servers:
        yield {
            name: server if isinstance(server, Missing) else _run(User(program, server), runs)
            for name, server in servers.items()
        }


class User:
    """Somebody with kubectl, a kubeconfig and a home."""

    def __init__(self, program: str, server: ApiServer) -> None:
        self._program = program
        self._server = server
        self._home = server.kubeconfig.parent / "home"
        self._home.mkdir()

    def run(self, arguments: Sequence[str], text: str) -> float:
        """Seconds from the start of kubectl to its end."""
        environment = {
            "KUBECONFIG": str(self._server.kubeconfig),
            "HOME": str(self._home),
            "PATH": os.environ["PATH"],
        }
        began = time.perf_counter()
        done = subprocess.run(
            [self._program, *arguments],
            env=environment,
            input=text.encode(),
            capture_output=True,
            check=False,
        )
        spent = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.decode()}")
        return spent

    def forget(self) -> None:
        """Empty the caches."""
        shutil.rmtree(self._home / ".kube", ignore_errors=True)


def _run(user: User, runs: int) -> Run:
    numbers = itertools.count()

    def run(figures: Figures) -> None:
        for name, command in COMMANDS.items():
            spent = 0.0
            for _ in range(runs):
                if name == COLD:
                    user.forget()
                spent += user.run(*command(next(numbers)))
            figures[name] = spent / runs * 1e3

    return run


SUITE = Suite(
    name="kubectl",
    title="kubectl",
    cases=cases,
    programs=("kubectl", "kube-apiserver", "etcd"),
    is_process=True,
)
