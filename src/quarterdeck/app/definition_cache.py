"""Caches the CustomResourceDefinitions of our kinds in the data folder, for the next start.

Building 35 of them from their types and docstrings takes a tenth of a start. The file is used only
if the source files from which definitions are built have not changed.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import quarterdeck
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object

FILE = "definitions.json"
_PACKAGES = ("apis", "kit", "meta")
"""Packages whose source files affect definitions: `apis` and the layers it may import."""


class _Cached(msgspec.Struct, frozen=True):
    fingerprint: str
    manifests: list[dict[str, Any]]


def load_manifests(kinds: Iterable[type[Object]], folder: Path) -> list[dict[str, Any]]:
    """The manifests of kinds, read from the folder, or built and written there."""
    kinds = tuple(kinds)
    fingerprint, file = _compute_fingerprint(kinds), folder / FILE
    try:
        cached = msgspec.json.decode(file.read_bytes(), type=_Cached)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        cached = _Cached("", [])
    if cached.fingerprint == fingerprint:
        return cached.manifests
    manifests = crd.build_manifests(kinds)
    write_private_file(file, msgspec.json.encode(_Cached(fingerprint, manifests)))
    return manifests


def _compute_fingerprint(kinds: Sequence[type[Object]]) -> str:
    """Names the kinds, the interpreter, and each source file with its size and time."""
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    root = Path(quarterdeck.__file__).parent
    sources = [line for package in _PACKAGES for line in sorted(_list_sources(root / package))]
    text = "\n".join([quarterdeck.__version__, sys.version, *names, *sources])
    return hashlib.sha256(text.encode()).hexdigest()


def _list_sources(folder: Path | str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _list_sources(entry.path)
            elif entry.name.endswith(".py"):
                state = entry.stat()
                yield f"{entry.path} {state.st_size} {state.st_mtime_ns}"
