"""The same surroundings for every process under measurement, whoever starts the run.

A caller's `PYTHONDONTWRITEBYTECODE` would make each child compile each module at each start, a
`GOGC` would favor one peer, a proxy would stand in the middle of the loopback: none is handed on.
"""

import compileall
import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_DROPPED = ("PYTHON", "GO", "UV_", "QUARTERDECK_", "KUBE")
_KEPT = frozenset({"QUARTERDECK_BENCH_PROFILE", "PYTHONPATH"})
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})

_OURS = ("quarterdeck", "bench")
_PEERS = ("kopf", "kubernetes", "aiohttp", "httpx", "httpcore", "urllib3", "yaml", "orjson")


def clean(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a measured process may see of an environment, of ours without one."""
    given = os.environ if environment is None else environment
    return {name: value for name, value in given.items() if name in _KEPT or not _is_foreign(name)}


def compile_modules(names: Iterable[str] = (*_OURS, *_PEERS)) -> None:
    """Compile every module once, ours and the peers', so that no start under measurement does."""
    for name in names:
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            if os.access(folder, os.W_OK):
                compileall.compile_dir(Path(folder), quiet=2, workers=1)


def _is_foreign(name: str) -> bool:
    return name.startswith(_DROPPED) or name.lower() in _PROXIES
