"""API servers under measurement, each as its users start it: real processes, TLS, durable storage.

Ours is `quarterdeck server`. kube-apiserver with etcd takes part where the environment variables
KUBE_APISERVER and ETCD name their binaries. Those two may use every core; ours is kept on one where
a suite pins it.
"""

import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from bench import accounting, environment, profiling
from bench.suite import OURS, Missing
from quarterdeck.kit.free_port import find_free_port

KUBERNETES = "kube-apiserver + etcd"
TOKEN = "bench-administrator"
SERVER_CORE = 0
LOAD_CORE = 1

_READY_LIMIT_S = 120.0
_POLL_S = 0.01
_PROFILE_LIMIT_S = 30.0


class ApiServer:
    """A running API server: one or several processes."""

    def __init__(self, url: str, kubeconfig: Path, *, plain_url: str = "") -> None:
        self.url = url
        self.plain_url = plain_url
        """Without TLS; empty where the server has no such port."""
        self.kubeconfig = kubeconfig
        self.ready_s = 0.0
        """From the start of the first process to the first successful /readyz."""
        self.profile: Path | None = None
        """Where the first process writes its profile when it ends."""
        self.core: int | None = None
        """The core it was pinned to."""
        self._commands: list[tuple[Sequence[str], Path]] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def run(self, command: Sequence[str], *, log: Path) -> None:
        """Add a process."""
        self._commands.append((command, log))
        self._start(command, log)

    def _start(self, command: Sequence[str], log: Path) -> None:
        with log.open("ab") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment.clean(),
            )
        self._processes.append(process)

    def pin(self, core: int) -> None:
        """Keep every thread of its processes on one core, where the system can do that."""
        self.core = core
        for process in self._processes:
            accounting.pin(process.pid, core)

    def restart(self) -> float:
        """Kill it and start it again on what it has stored; seconds until it is ready."""
        self._kill()
        began = time.monotonic()
        for command, log in self._commands:
            self._start(command, log)
        self.wait_ready(began)
        if self.core is not None:
            self.pin(self.core)
        return self.ready_s

    def wait_ready(self, started: float) -> None:
        """Wait for /readyz, asking every 10 ms."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        while not _answers(f"{self.url}/readyz", context):
            if any(process.poll() is not None for process in self._processes):
                raise RuntimeError(f"the server at {self.url} ended before it was ready")
            if time.monotonic() - started > _READY_LIMIT_S:
                raise RuntimeError(f"the server at {self.url} did not become ready")
            time.sleep(_POLL_S)
        self.ready_s = time.monotonic() - started

    def cpu_s(self) -> float:
        """Processor seconds of all its processes."""
        return sum(accounting.cpu_s(process.pid) for process in self._processes)

    def memory_bytes(self) -> int:
        """Resident memory of all its processes."""
        return sum(accounting.memory_bytes(process.pid) for process in self._processes)

    def descriptors(self) -> int:
        """Open files and sockets of all its processes."""
        return sum(accounting.descriptors(process.pid) for process in self._processes)

    def disk_bytes(self) -> int:
        """What it has stored, in the folder it was given."""
        files = self._commands[0][1].parent.rglob("*")
        return sum(path.stat().st_blocks * 512 for path in files if _is_data(path))

    def close(self) -> None:
        """End its processes at once: what they keep is thrown away."""
        if self.profile is not None:
            self._processes[0].terminate()
            self._processes[0].wait(_PROFILE_LIMIT_S)
            profiling.show(self.profile)
        self._kill()

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix not in (".log", ".profile")


def _answers(url: str, context: ssl.SSLContext) -> bool:
    try:
        with urlopen(url, timeout=2, context=context) as answer:
            return bool(answer.status == 200)
    except HTTPError as error:
        error.close()
        return False
    except (URLError, OSError):
        return False


Start = Callable[[], ApiServer]


@contextmanager
def started() -> Iterator[dict[str, ApiServer | Missing]]:
    """Every server that can take part, running and ready."""
    with ExitStack() as stack:
        running: dict[str, ApiServer | Missing] = {}
        for name, start in starters().items():
            if isinstance(start, Missing):
                running[name] = start
                continue
            running[name] = stack.enter_context(one(start))
        yield running


@contextmanager
def one(start: Callable[[Path], ApiServer]) -> Iterator[ApiServer]:
    """A server with a folder of its own; both are gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="quarterdeck-bench-"))
    server: ApiServer | None = None
    try:
        server = start(folder)
        yield server
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


def starters() -> Mapping[str, Callable[[Path], ApiServer] | Missing]:
    """How each contender is started, given an empty folder."""
    binaries = [os.environ.get(name, "") for name in ("KUBE_APISERVER", "ETCD")]
    if not all(binaries):
        missing = Missing("KUBE_APISERVER and ETCD name no binaries")
        return {OURS: start_ours, KUBERNETES: missing}
    for path in binaries:
        if not os.access(path, os.X_OK):
            return {OURS: start_ours, KUBERNETES: Missing(f"{Path(path).name} is not executable")}
    return {OURS: start_ours, KUBERNETES: lambda folder: start_kubernetes(folder, *binaries)}


def start_ours(folder: Path, *flags: str) -> ApiServer:
    """`quarterdeck server` with its defaults: SQLite, acknowledged means on disk."""
    port, plain = find_free_port(), find_free_port()
    server = ApiServer(
        f"https://127.0.0.1:{port}",
        folder / "data" / "kubeconfig",
        plain_url=f"http://127.0.0.1:{plain}",
    )
    command = [sys.executable]
    if profiling.is_wanted():
        server.profile = folder / "server.profile"
        command += ["-m", "cProfile", "-o", str(server.profile)]
    begin = time.monotonic()
    server.run(
        [
            *command,
            "-m",
            "quarterdeck.cli",
            "server",
            "--data-dir",
            str(folder / "data"),
            "--port",
            str(port),
            "--http-port",
            str(plain),
            *flags,
        ],
        log=folder / "server.log",
    )
    return _ready(server, begin)


def start_kubernetes(
    folder: Path, kube_apiserver: str, etcd: str, *, flags: Sequence[str] = ()
) -> ApiServer:
    """kube-apiserver on an etcd that syncs every write, as in production; one administrator."""
    port, client, peer = find_free_port(), find_free_port(), find_free_port()
    write_credentials(folder, port)
    server = ApiServer(f"https://127.0.0.1:{port}", folder / "kubeconfig")
    begin = time.monotonic()
    server.run(
        [
            etcd,
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--log-level=error",
        ],
        log=folder / "etcd.log",
    )
    server.run(
        [
            kube_apiserver,
            f"--etcd-servers=http://127.0.0.1:{client}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'sa.key'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--disable-admission-plugins=ServiceAccount",
            *flags,
        ],
        log=folder / "kube-apiserver.log",
    )
    return _ready(server, begin)


def _ready(server: ApiServer, begin: float) -> ApiServer:
    try:
        server.wait_ready(begin)
    except BaseException:
        server.close()
        raise
    return server


def write_credentials(folder: Path, port: int) -> None:
    """Write the keys, the token and the kubeconfig of an administrator into a folder."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    (folder / "sa.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    (folder / "tokens.csv").write_text(f'{TOKEN},administrator,1,"system:masters"\n')
    (folder / "kubeconfig").write_text(
        f"""apiVersion: v1
kind: Config
current-context: bench
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
users: [{{name: bench, user: {{token: {TOKEN}}}}}]
clusters:
- name: bench
  cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}
"""
    )
