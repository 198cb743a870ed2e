"""The pytest plugin that measures branch coverage and fails a run below a floor.

The floor is for branches alone, and for statements and branches together.

    PYTHONPATH=tools python -m pytest -p branch_coverage.plugin --coverage-floor 90

Start it in the folder of pyproject.toml, whose table `tool.branch-coverage` says what is measured.
`-p` loads this plugin before those that import the package. Workers of pytest-xdist load it too,
and hand over what they ran when they end. Processes that tests start are measured if the test puts
what `child.OPTIONS` holds into the command.
"""

import json
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from branch_coverage.child import prepare_environment, read_children
from branch_coverage.report import Measure, format_table, list_missed, measure_packages, merge_hits
from branch_coverage.settings import read_settings

_HITS = "branch_coverage_hits"
_settings = read_settings(Path.cwd())
_finder = _settings.build_finder()
sys.meta_path.insert(0, _finder)
_children = prepare_environment(_settings.root)


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
    """What this process ran, and those that it started and that have ended."""
    hits = {file: bytes(ran) for file, ran in _finder.hits.items()}
    merge_hits(hits, read_children(_children))
    shutil.rmtree(_children, ignore_errors=True)
    return {str(file): ran for file, ran in hits.items()}


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
        sources = _settings.sources
        files = [file for file in sorted(sources.rglob("*.py")) if not _settings.is_omitted(file)]
        self._packages = measure_packages(sources, files, self._hits)
        if file := self._config.getoption("--coverage-out"):
            file.write_text(json.dumps(list_missed(files, self._hits), indent=1))
        if self._is_below_floor():
            session.testsfailed += 1
        return result

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._packages:
            return
        terminalreporter.section("branch coverage of src")
        for line in format_table(self._packages):
            terminalreporter.line(line)
        if self._is_below_floor():
            floor, total = self._config.getoption("--coverage-floor"), self._get_total()
            terminalreporter.line(
                f"{total.percent:.1f} % of statements and branches,"
                f" and {total.branch_percent:.1f} % of branches alone ran,"
                f" below the floor of {floor:g} % for each;"
                " add tests; --coverage-out FILE writes the lines that never ran"
            )

    def _is_below_floor(self) -> bool:
        total, floor = self._get_total(), self._config.getoption("--coverage-floor")
        return bool(min(total.percent, total.branch_percent) < floor)

    def _get_total(self) -> Measure:
        return sum(self._packages.values(), Measure())

    def _add(self, hits: dict[str, bytes]) -> None:
        merge_hits(self._hits, {Path(file): ran for file, ran in hits.items()})
