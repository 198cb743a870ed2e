"""The versions of programs that take part in a run but are no Python distributions."""

import functools
import os
import re
import shutil
import sqlite3
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

_GO_MODULE = Path(__file__).parent / "peers" / "go" / "go.mod"
_LIMIT_S = 20.0


@functools.cache
def version(name: str) -> str | None:
    """The version of a program; None where it is not there or does not say."""
    return _KNOWN[name]()


def _told(program: str | None, *arguments: str, pattern: str = r"v?(\d+\.\d+\S*)") -> str | None:
    """What a program says of itself."""
    if not program or shutil.which(program) is None:
        return None
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(pattern, done.stdout)
    return found[1] if found else None


def _controller_runtime() -> str | None:
    found = re.search(r"sigs\.k8s\.io/controller-runtime v(\S+)", _GO_MODULE.read_text())
    return found[1] if found else None


_KNOWN: Mapping[str, Callable[[], str | None]] = {
    "kube-apiserver": lambda: _told(os.environ.get("KUBE_APISERVER"), "--version"),
    "etcd": lambda: _told(os.environ.get("ETCD"), "--version"),
    "kubectl": lambda: _told("kubectl", "version", "--client"),
    "go": lambda: _told("go", "version", pattern=r"go(\d+\.\d+\S*)"),
    "controller-runtime": _controller_runtime,
    "SQLite": lambda: sqlite3.sqlite_version,
    "OpenSSL": lambda: ssl.OPENSSL_VERSION.split()[1],
}
