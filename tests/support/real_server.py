"""A real kube-apiserver with its etcd for a test, and kubectl on it.

The environment variables KUBE_APISERVER and ETCD name the two programs; without them the tests are
skipped. No controllers run: what a test does not write does not exist.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bench.peers import api_servers
from bench.peers.api_servers import ApiServer

from quarterdeck.kit import yaml

LIMIT_S = 240
QUARTERDECK = (sys.executable, "-m", "quarterdeck.cli")
NAMESPACE = "quarterdeck-system"
ACCOUNT = "quarterdeck-manager"


def wait_until(
    holds: Callable[[], object], explain: Callable[[], object], *, within_s: float = 240.0
) -> None:
    """Ask other processes again and again; fail with the explanation when time is up."""
    deadline, pause = time.monotonic() + within_s, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, explain()
        pause.wait(0.2)


class RealServer:
    """A running kube-apiserver; its administrator uses kubectl and quarterdeck."""

    def __init__(self, server: ApiServer, folder: Path, kubectl: str) -> None:
        self.url = server.url
        self.folder = folder
        self.authority = _read_authority(folder / "certificates" / "apiserver.crt")
        self.kubeconfig = self.write_kubeconfig("administrator", api_servers.TOKEN)
        self._kubectl = kubectl

    def write_kubeconfig(self, name: str, token: str) -> Path:
        """A kubeconfig with the server's authority and a token."""
        authority = self.folder / "authority.crt"
        authority.write_text(self.authority)
        cluster = {"server": self.url, "certificate-authority": str(authority)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "real",
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": name}}],
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(yaml.dump(config))
        path.chmod(0o600)
        return path

    def install(self, *flags: str) -> Path:
        """Apply what `quarterdeck manifests` prints; the kubeconfig of the operators' account."""
        self.apply(self.quarterdeck("manifests", *flags))
        token = self.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE)
        return self.write_kubeconfig(ACCOUNT, token.strip())

    def kubectl(self, *arguments: str, given: str = "") -> str:
        """What kubectl prints; it must succeed."""
        done = self.try_kubectl(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run kubectl, however it ends."""
        return subprocess.run(
            [self._kubectl, "--kubeconfig", str(self.kubeconfig), *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            input=given,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def get(self, *arguments: str) -> Any:
        """What `kubectl get -o json` prints."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def items(self, *arguments: str) -> list[dict[str, Any]]:
        """The items of what `kubectl get -o json` prints."""
        found: list[dict[str, Any]] = self.get(*arguments)["items"]
        return found

    def apply(self, manifests: str) -> None:
        """Apply documents by `kubectl apply`."""
        self.kubectl("apply", "-f", "-", given=manifests)

    def create(self, *documents: Mapping[str, Any]) -> None:
        """Create objects, and write the status that some of them bring along."""
        self.kubectl("create", "-f", "-", given=_list(documents))
        with_status = [each for each in documents if "status" in each]
        if with_status:
            status = ("--subresource=status", "-f", "-")
            self.kubectl("replace", *status, given=_list(with_status))

    def quarterdeck(self, *arguments: str, kubeconfig: Path | None = None) -> str:
        """What a command of ours prints; it must succeed."""
        done = subprocess.run(
            [*QUARTERDECK, *arguments],
            env={**os.environ, "KUBECONFIG": str(kubeconfig or self.kubeconfig)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"quarterdeck {' '.join(arguments)}: {done.stderr}"
        return done.stdout


@contextlib.contextmanager
def running_real_server(folder: Path, *flags: str) -> Iterator[RealServer]:
    """Start etcd and kube-apiserver; skips where the environment names no programs."""
    programs = [os.environ.get(name, "") for name in ("KUBE_APISERVER", "ETCD")]
    if not all(programs):
        pytest.skip("KUBE_APISERVER and ETCD name no programs")
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    server = api_servers.start_kubernetes(folder, *programs, flags=flags)
    try:
        yield RealServer(server, folder, kubectl)
    finally:
        server.close()


def _read_authority(path: Path) -> str:
    """The authority that kube-apiserver made for itself: the last certificate of its chain."""
    last = path.read_text().rpartition("-----BEGIN CERTIFICATE-----")
    return last[1] + last[2]


def _list(documents: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
