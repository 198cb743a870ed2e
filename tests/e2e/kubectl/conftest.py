"""kubectl as it is, against a real server process with simulated workloads.

One server serves all tests of a file; every test has a namespace of its own, which is the default
of its kubeconfig, so that tests never see each other.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.kit import yaml

TIMEOUT_S = 60


class Kubectl:
    """One kubectl program, one kubeconfig."""

    def __init__(
        self, program: Path, kubeconfig: Path, home: Path, *, folder: Path | None = None
    ) -> None:
        self.program = program
        self.kubeconfig = kubeconfig
        self.home = home
        self.folder = folder or home
        """Where it is called."""

    @property
    def minor(self) -> int:
        """The 32 of 1.32."""
        found = json.loads(self("version", "--client", "-o", "json"))
        return int(found["clientVersion"]["minor"].rstrip("+"))

    def __call__(self, *arguments: str, text: str = "", code: int = 0, **environment: str) -> str:
        """What it prints; with a code other than 0, errors too."""
        done = subprocess.run(
            [self.program, *arguments],
            env=self.environment(environment),
            cwd=self.home,
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, done
        return done.stdout if code == 0 else done.stdout + done.stderr

    def warned(self, *arguments: str, text: str = "", **environment: str) -> str:
        """What it prints to standard error while it succeeds."""
        done = subprocess.run(
            [self.program, *arguments],
            env=self.environment(environment),
            cwd=self.home,
            input=text,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        return done.stderr

    def everything(self, *arguments: str) -> str:
        """What it prints anywhere, and how it ends."""
        done = subprocess.run(
            [self.program, *arguments],
            env=self.environment({}),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return f"{done.stdout}\n{done.stderr}\nended with {done.returncode}"

    def json(self, *arguments: str) -> Any:
        """What it prints as JSON."""
        return json.loads(self(*arguments, "-o", "json"))

    def columns(self, *arguments: str) -> list[str]:
        """The head of the table it prints."""
        first, _, _ = self("get", *arguments).partition("\n")
        return [each.strip() for each in first.split("  ") if each.strip()]

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on by itself, ended afterwards."""
        process = subprocess.Popen(
            [self.program, *arguments],
            env=self.environment({}),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT_S)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            **more,
        }


def find_kubectl() -> Path:
    """The kubectl of this machine; its absence skips unless it is required."""
    program = shutil.which("kubectl")
    if program is not None:
        return Path(program)
    if "kubectl" in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", ""):
        pytest.fail("kubectl is not installed")
    pytest.skip("kubectl is not installed")


@pytest.fixture(scope="module")
def server(serve: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a server that lives as long as the tests of a file."""
    with serve(tmp_path_factory.mktemp("server"), "--simulate-workloads") as kubeconfig:
        yield kubeconfig


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    """Numbers for namespaces."""
    return itertools.count(1)


@pytest.fixture
def kubectl(server: Path, numbers: Iterator[int], tmp_path: Path) -> Kubectl:
    """kubectl in a namespace of its own."""
    return in_namespace(find_kubectl(), server, f"test-{next(numbers)}", tmp_path)


def in_namespace(program: Path, server: Path, namespace: str, home: Path) -> Kubectl:
    """kubectl whose default namespace is a new one."""
    Kubectl(program, server, home)("create", "namespace", namespace)
    config: Any = yaml.load(server.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    path = home / "kubeconfig"
    path.write_text(yaml.dump(config))
    path.chmod(0o600)
    return Kubectl(program, path, home)


@pytest.fixture
def enter() -> Callable[[Path, Path, str, Path], Kubectl]:
    """For tests that choose the program themselves."""
    return in_namespace


@pytest.fixture
def session() -> Callable[[Path, Path], Kubectl]:
    """kubectl with a kubeconfig, called in a folder; its home is beside the kubeconfig."""

    def start(kubeconfig: Path, folder: Path) -> Kubectl:
        home = kubeconfig.parent / "home"
        home.mkdir()
        return Kubectl(find_kubectl(), kubeconfig, home, folder=folder)

    return start
