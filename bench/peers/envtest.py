"""API servers as envtest starts them: etcd, then kube-apiserver, each waited for.

Ours are the programs of `quarterdeck envtest`; the real ones take part where KUBE_APISERVER and
ETCD name their binaries.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from bench.peers.api_servers import KUBERNETES, ApiServer, write_credentials
from bench.suite import OURS, Missing
from quarterdeck.kit.free_port import find_free_port

_POLL_S = 0.01
_HEALTH_LIMIT_S = 60.0


def starters(assets: Path) -> Mapping[str, Callable[[Path], ApiServer] | Missing]:
    """How each pair of programs is started, given an empty folder; `assets` is for ours."""
    from quarterdeck.app.envtest.folder import write_programs

    folder = write_programs(assets, datetime.now(UTC))
    ours = partial(start, kube_apiserver=folder / "kube-apiserver", etcd=folder / "etcd")
    binaries = [os.environ.get(name, "") for name in ("KUBE_APISERVER", "ETCD")]
    if not all(os.access(path, os.X_OK) for path in binaries):
        return {OURS: ours, KUBERNETES: Missing("KUBE_APISERVER and ETCD name no binaries")}
    kube_apiserver, etcd = map(Path, binaries)
    return {OURS: ours, KUBERNETES: partial(start, kube_apiserver=kube_apiserver, etcd=etcd)}


def start(folder: Path, *, kube_apiserver: Path, etcd: Path) -> ApiServer:
    """Start both with the flags of envtest; ready when the API server is."""
    port, client, peer = find_free_port(), find_free_port(), find_free_port()
    write_credentials(folder, port)
    server = ApiServer(f"https://127.0.0.1:{port}", folder / "kubeconfig")
    url = f"http://127.0.0.1:{client}"
    begin = time.monotonic()
    try:
        server.run(
            [
                str(etcd),
                f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={url}",
                f"--advertise-client-urls={url}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                "--unsafe-no-fsync=true",
            ],
            log=folder / "etcd.log",
        )
        _wait_healthy(f"{url}/health", begin)
        server.run(
            [
                str(kube_apiserver),
                f"--etcd-servers={url}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={folder / 'certificates'}",
                f"--token-auth-file={folder / 'tokens.csv'}",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://127.0.0.1/",
                f"--service-account-key-file={folder / 'sa.key'}",
                f"--service-account-signing-key-file={folder / 'sa.key'}",
                "--disable-admission-plugins=ServiceAccount",
                "--allow-privileged=true",
            ],
            log=folder / "kube-apiserver.log",
        )
        server.wait_ready(begin)
    except BaseException:
        server.close()
        print((folder / "etcd.log").read_text()[-500:], file=sys.stderr)
        raise
    return server


def _wait_healthy(url: str, started: float) -> None:
    while time.monotonic() - started < _HEALTH_LIMIT_S:
        try:
            with urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(_POLL_S)
    raise RuntimeError(f"{url} did not become healthy")
