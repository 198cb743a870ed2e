"""Refuse to regenerate a CRD in a way that breaks stored objects."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from quarterdeck.codegen import compatibility, crds
from quarterdeck.codegen.files import read
from quarterdeck.kit import yaml


def find_breaking_changes(root: Path) -> list[str]:
    """What the types would break, compared with the manifests on disk and last committed."""
    found: dict[str, None] = {}
    for file in crds.build_bases():
        after = yaml.load(file.text)
        for text in _read_earlier(root, file.path):
            for what in compatibility.find_breaking_changes(yaml.load(text), after):
                found[f"{file.path}: {what}"] = None
    return list(found)


def _read_earlier(root: Path, path: str) -> Iterator[str]:
    for text in (read(root / path), _read_committed(root, path)):
        if text:
            yield text


def _read_committed(root: Path, path: str) -> str | None:
    """The file at the last commit; `None` outside a repository, or if it is new."""
    try:
        shown = subprocess.run(
            ["git", "show", f"HEAD:./{path}"], cwd=root, capture_output=True, check=False
        )
    except OSError:
        return None
    return shown.stdout.decode() if shown.returncode == 0 else None
