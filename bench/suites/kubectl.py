"""What a user of kubectl waits for: kubectl's own wall time, against our server and the real one.

Most of it is kubectl reading OpenAPI and discovery, which is why a server that describes less, and
compressed, makes it faster. The home folder keeps kubectl's caches, as a user's does.
"""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.peers import api_servers
from bench.peers.api_servers import ApiServer
from bench.suite import Case, Contenders, Measure, Missing, Scale, Suite

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{k: '{value}'}}\n"

Command = Callable[[int], tuple[Sequence[str], str]]
"""The arguments and the input of the n-th run."""


def cases(scale: Scale) -> Sequence[Case]:
    runs = scale.pick(1, 5, 15)
    commands: dict[str, Command] = {
        "kubectl get of a namespace's pods": lambda _: (("get", "pods"), ""),
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
    warm = [_case(name, command, runs) for name, command in commands.items()]
    cold = Case(
        name="kubectl get of a namespace's pods, caches empty",
        unit="ms",
        open=lambda _: _timed(lambda _: (("get", "pods"), ""), runs, is_cold=True),
    )
    return [*warm, cold]


def _case(name: str, command: Command, runs: int) -> Case:
    return Case(name=name, unit="ms", open=lambda _: _timed(command, runs))


@contextmanager
def _timed(command: Command, runs: int, *, is_cold: bool = False) -> Iterator[Contenders]:
    program = shutil.which("kubectl")
    with api_servers.started() as servers:
        if program is None:
            yield {name: Missing("kubectl is not installed") for name in servers}
            return
        contenders: dict[str, Measure | Missing] = {}
        for name, server in servers.items():
            if isinstance(server, Missing):
                contenders[name] = server
            else:
                contenders[name] = _measure(
                    User(program, server), command, runs=runs, is_cold=is_cold
                )
        yield contenders


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
        shutil.rmtree(Path(self._home / ".kube"), ignore_errors=True)


def _measure(user: User, command: Command, *, runs: int, is_cold: bool) -> Measure:
    numbers = itertools.count()
    user.run(*command(next(numbers)))

    def run() -> float:
        spent = 0.0
        for _ in range(runs):
            if is_cold:
                user.forget()
            spent += user.run(*command(next(numbers)))
        return spent / runs * 1e3

    return run


SUITE = Suite(name="kubectl", title="kubectl", cases=cases, is_process=True)
