"""Writes the programs that envtest starts into a folder, for KUBEBUILDER_ASSETS."""

import os
import shlex
import sys
from datetime import datetime
from pathlib import Path

from quarterdeck.app import certificates
from quarterdeck.app.errors import StartError
from quarterdeck.kit.private_file import write_private_file

PROGRAMS = {"kube-apiserver": "kube_apiserver", "etcd": "etcd", "kubectl": "kubectl"}
"""Programs, with their modules in `quarterdeck.cli.shims`."""
PKI = "pki"


def choose_folder(environment: dict[str, str]) -> Path:
    """The default folder, in the user's cache."""
    cache = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "quarterdeck" / "envtest"


def write_programs(folder: Path, now: datetime) -> Path:
    """Write the programs, and make the certificates that all servers of the folder share.

    Returns the absolute folder.

    Raises:
        StartError: if it cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificates.ensure(folder / PKI, now)
        for name, module in PROGRAMS.items():
            _write_program(folder / name, f"quarterdeck.cli.shims.{module}", folder.resolve())
    except OSError as error:
        raise StartError(
            f"cannot write {folder}: {error.strerror or error}; choose another folder with --dir"
        ) from error
    return folder.resolve()


def _write_program(path: Path, module: str, folder: Path) -> None:
    """Write a shell script that replaces itself by our program, so that signals reach it."""
    command = shlex.join([sys.executable, "-m", module])
    text = (
        f"#!/bin/sh\nQUARTERDECK_ENVTEST={shlex.quote(str(folder))}\n"
        f'export QUARTERDECK_ENVTEST\nexec {command} "$@"\n'
    )
    write_private_file(path, text.encode(), mode=0o755)
