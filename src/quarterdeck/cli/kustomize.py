"""Kustomizations: built by kubectl or kustomize, whichever is installed."""

import shutil
import subprocess
from pathlib import Path

from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError

_PROGRAMS = (("kubectl", "kustomize"), ("kustomize", "build"))


def build_kustomization(folder: str) -> bytes:
    """The manifests of a kustomization, as YAML.

    Raises:
        CommandError: if the folder is none, no program can build it, or the build fails.
    """
    if "://" not in folder and not Path(folder).is_dir():
        raise CommandError(f"--kustomize {folder} is not a folder", REFUSED)
    for program, verb in _PROGRAMS:
        if path := shutil.which(program):
            return _build([path, verb, folder])
    raise CommandError(
        "--kustomize needs kubectl or kustomize on the PATH; apply plain manifests with --filename",
        REFUSED,
    )


def _build(command: list[str]) -> bytes:
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().removeprefix("error: ")
        raise CommandError(f"cannot build kustomization {command[-1]}: {reason}", FAILED)
    return done.stdout
