"""Import the modules of a package with probes in them."""

import hashlib
import importlib.abc
import importlib.machinery
import marshal
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType

from branch_coverage.probes import PROBES, insert_probes

_SALT = f"{sys.version} ".encode() + Path(__file__).with_name("probes.py").read_bytes()
_ATTEMPTS = 10
_PARSING = threading.Lock()
"""Held while a module is parsed: Python 3.11 counts the depth of syntax trees for all threads
together, so that two threads that import at once may fail with SystemError."""


class ProbeFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of one package and loads them with probes.

    `hits` has a list for each module file that was imported: item N is 1 once probe N ran.
    """

    def __init__(self, package: str, *, is_omitted: Callable[[Path], bool], cache: Path) -> None:
        self._package = package
        self._is_omitted = is_omitted
        self._cache = cache
        self.hits: dict[Path, list[int]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own spec, with a loader that inserts probes."""
        if fullname.partition(".")[0] != self._package:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec
        file = Path(spec.loader.path)
        if not self._is_omitted(file):
            spec.loader = _ProbeLoader(fullname, spec.loader.path, self)
        return spec

    def load(self, file: Path) -> CodeType:
        """The compiled module with probes, and a new list for them."""
        source = file.read_bytes()
        digest = hashlib.sha256(_SALT + os.fsencode(file) + source).hexdigest()
        cached = self._cache / digest
        if cached.exists():
            size, code = marshal.loads(cached.read_bytes())
        else:
            size, code = _compile(file, source)
            _write_atomically(cached, marshal.dumps((size, code)))
        self.hits[file] = [0] * size
        assert isinstance(code, CodeType)
        return code


class _ProbeLoader(importlib.machinery.SourceFileLoader):
    """Python's own loader, except for how a module is compiled and executed."""

    def __init__(self, fullname: str, path: str, finder: ProbeFinder) -> None:
        super().__init__(fullname, path)
        self._finder = finder

    def exec_module(self, module: ModuleType) -> None:
        file = Path(self.path)
        code = self._finder.load(file)
        module.__dict__[PROBES] = self._finder.hits[file]
        exec(code, module.__dict__)


def _compile(file: Path, source: bytes) -> tuple[int, CodeType]:
    for attempt in range(_ATTEMPTS):
        try:
            with _PARSING:
                module = insert_probes(source)
                code = compile(module.tree, str(file), "exec", dont_inherit=True)
            return len(module.probes), code
        except SystemError:  # the package itself parsed beside us
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _write_atomically(file: Path, content: bytes) -> None:
    """Another worker of the same run may write the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(file)
