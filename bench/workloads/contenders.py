"""Who takes part: the command of each operator, or why there is none."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.series import Run, Runs
from bench.suite import OURS, Missing

KOPF = "kopf"
INFORMER = "official client's informer"
GO = "controller-runtime (Go)"

Command = Sequence[str]
"""Settings and a kubeconfig are added to it."""
Operators = Mapping[str, Command | Missing]

_BENCH = Path(__file__).parent.parent
_GO_SOURCES = _BENCH / "peers" / "go"
_GO_BINARY = _BENCH.parent / ".tools" / "bench" / "operator"
_GO_LIMIT_S = 300.0
_ROLES = {OURS: "quarterdeck", KOPF: "kopf", INFORMER: "informer"}
_MODULES = {KOPF: "kopf", INFORMER: "kubernetes.informer"}


def operators(*, may_build: bool) -> Operators:
    """All of them, in the order in which they take turns."""
    found: dict[str, Command | Missing] = {}
    for name, role in _ROLES.items():
        module = _MODULES.get(name)
        if module is not None and not _is_installed(module):
            found[name] = Missing(f"{module} is not installed")
        else:
            found[name] = ["-m", "bench.peers.operators", role]
    found[GO] = _go_operator(may_build=may_build)
    return found


def without(operators: Operators, reasons: Mapping[str, str]) -> Operators:
    """The same, but some do not take part, each for its reason."""
    return {
        name: Missing(reasons[name]) if name in reasons else command
        for name, command in operators.items()
    }


def runs(operators: Operators, run_of: Callable[[Command], Run]) -> Runs:
    """What each of them goes through."""
    return {
        name: each if isinstance(each, Missing) else run_of(each)
        for name, each in operators.items()
    }


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _go_operator(*, may_build: bool) -> Command | Missing:
    if _is_current():
        return [str(_GO_BINARY)]
    if not may_build:
        return Missing("not built; a standard run builds it")
    problem = _build_go()
    return Missing(problem) if problem else [str(_GO_BINARY)]


def _is_current() -> bool:
    sources = max(path.stat().st_mtime for path in _GO_SOURCES.iterdir())
    return _GO_BINARY.exists() and _GO_BINARY.stat().st_mtime >= sources


def _build_go() -> str:
    """Build it; returns what is in the way."""
    go = shutil.which("go")
    if go is None:
        return "Go is not installed"
    _GO_BINARY.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(_GO_BINARY), "."]
    try:
        built = subprocess.run(
            command, cwd=_GO_SOURCES, capture_output=True, timeout=_GO_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "building it took too long"
    return "" if built.returncode == 0 else "building it failed"
