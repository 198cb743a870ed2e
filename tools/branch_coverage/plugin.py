"""The pytest plugin that measures branch coverage and fails a run below a floor.

    PYTHONPATH=tools python -m pytest -p branch_coverage.plugin --coverage-floor 90

Start it in the folder of pyproject.toml, whose table `tool.branch-coverage` says what is measured.
`-p` loads this plugin before those that import the package. Workers of pytest-xdist load it too,
and hand over what they ran when they end; processes that tests start are not measured.
"""

import fnmatch
import json
import sys
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from branch_coverage.importer import ProbeFinder
from branch_coverage.report import Measure, format_table, list_missed, measure_packages, merge_hits

_HITS = "branch_coverage_hits"
_ROOT = Path.cwd()
_SETTINGS = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["branch-coverage"]
_SOURCES = _ROOT / _SETTINGS["sources"]


def _is_omitted(file: Path) -> bool:
    return any(fnmatch.fnmatch(file.as_posix(), f"*/{p}") for p in _SETTINGS["omit"])


_finder = ProbeFinder(
    _SETTINGS["package"], is_omitted=_is_omitted, cache=_ROOT / "build" / "coverage"
)
sys.meta_path.insert(0, _finder)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--coverage-floor` fails a run, `--coverage-out` writes which lines were missed."""
    group = parser.getgroup("coverage")
    group.addoption("--coverage-floor", type=float, default=0.0, metavar="PERCENT")
    group.addoption("--coverage-out", type=Path, metavar="FILE", help="JSON of missed lines")


def pytest_configure(config: pytest.Config) -> None:
    """A worker hands over what it ran; the process that people started adds everything up."""
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(_Worker(config) if is_worker else _Collector(config))


def _take_hits() -> dict[str, bytes]:
    return {str(file): bytes(hits) for file, hits in _finder.hits.items()}


class _Worker:
    """Hands over what this worker ran."""

    def __init__(self, config: pytest.Config) -> None:
        self._config: Any = config

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._config.workeroutput[_HITS] = _take_hits()


class _Collector:
    """Adds up what all processes ran, prints it and compares it with the floor."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._hits: dict[Path, bytes] = {}
        self._packages: dict[str, Measure] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._add(getattr(node, "workeroutput", {}).get(_HITS, {}))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        self._add(_take_hits())
        files = [file for file in sorted(_SOURCES.rglob("*.py")) if not _is_omitted(file)]
        self._packages = measure_packages(_SOURCES, files, self._hits)
        if file := self._config.getoption("--coverage-out"):
            file.write_text(json.dumps(list_missed(files, self._hits), indent=1))
        if self._get_total().percent < self._config.getoption("--coverage-floor"):
            session.testsfailed += 1
        return result

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._packages:
            return
        terminalreporter.section("branch coverage of src")
        for line in format_table(self._packages):
            terminalreporter.line(line)
        floor, total = self._config.getoption("--coverage-floor"), self._get_total().percent
        if total < floor:
            terminalreporter.line(
                f"branch coverage is {total:.1f} %, below the floor of {floor:g} %;"
                " add tests; --coverage-out FILE writes the lines that never ran"
            )

    def _get_total(self) -> Measure:
        return sum(self._packages.values(), Measure())

    def _add(self, hits: dict[str, bytes]) -> None:
        merge_hits(self._hits, {Path(file): ran for file, ran in hits.items()})
