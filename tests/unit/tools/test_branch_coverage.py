"""What of a module counts as run, and a run of pytest that is below its floor."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from branch_coverage.importer import ProbeFinder
from branch_coverage.probes import PROBES, insert_probes
from branch_coverage.report import Measure, format_table, list_missed, measure_file, merge_hits

ROOT = Path(__file__).parents[3]


def run(source: str) -> tuple[list[int], list[int], dict[str, object]]:
    """Lines that ran, decisions of which one side never ran, and the names that are left."""
    module = insert_probes(textwrap.dedent(source))
    hits = [0] * len(module.probes)
    names: dict[str, object] = {PROBES: hits}
    exec(compile(module.tree, "module", "exec", dont_inherit=True), names)
    ran = [p.line for p, hit in zip(module.probes, hits, strict=True) if p.is_statement and hit]
    missed = [module.probes[number].line for number in module.branches if not hits[number]]
    return ran, missed, names


def test_statements_after_an_exception_did_not_run() -> None:
    ran, missed, _ = run(
        """\
        try:
            int("x")
            found = True
        except ValueError:
            found = False
        """
    )
    assert (ran, missed) == ([1, 2, 5], [])


def test_an_if_without_else_has_a_way_past_it() -> None:
    _, missed, _ = run("if True:\n    taken = 1\n")
    assert missed == [1]
    _, missed, _ = run("for number in (1, 2):\n    if number > 1:\n        taken = 1\n")
    assert missed == []


@pytest.mark.parametrize(
    ("source", "missed"),
    [
        pytest.param("for x in ():\n    y = x", [2], id="for without a turn"),
        pytest.param("for x in (1,):\n    break", [1], id="for left by break"),
        pytest.param("for x in (1,):\n    pass\nelse:\n    y = 1", [], id="for with else"),
        pytest.param("x = 2\nwhile x:\n    x -= 1", [], id="while"),
        pytest.param("while True:\n    break", [], id="while True is no decision"),
        pytest.param("if False:\n    x = 1\nelif True:\n    x = 2", [2, 3], id="elif"),
        pytest.param("match 1:\n    case 1:\n        x = 1", [1], id="match of some values"),
        pytest.param(
            "match 1:\n    case 2:\n        x = 1\n    case _:\n        x = 2",
            [3],
            id="match of all",
        ),
        pytest.param(
            "match 1:\n    case 2 | _ as y:\n        x = 1",
            [],
            id="a last alternative for everything",
        ),
    ],
)
def test_sides_of_a_decision_that_never_ran_are_missed(source: str, missed: list[int]) -> None:
    assert run(source)[1] == missed


def test_what_cannot_or_must_not_run_does_not_count() -> None:
    ran, missed, _ = run(
        '''\
        """A module."""
        from __future__ import annotations
        from typing import TYPE_CHECKING, assert_never
        if TYPE_CHECKING:
            import nothing
        def f(x: int):
            """Documented."""
            match x:
                case 1:
                    return x
                case _:
                    assert_never(x)
        def g(): ...
        def h():
            raise NotImplementedError("later")
        f(1)
        if __name__ == "__main__":
            f(1)
        '''
    )
    assert (ran, missed) == ([3, 6, 8, 10, 13, 14, 16], [])


def test_docstrings_scopes_and_results_stay_as_they_were() -> None:
    _, _, names = run(
        '''\
        """A module."""
        import asyncio, enum
        class Color(enum.Enum):
            """Colors."""
            RED = 1
        count = 0
        def add():
            """Adds."""
            global count
            count += 1
            return sum(x for x in range(3))
        async def numbers():
            async with asyncio.Lock():
                yield 1
                yield 2
        async def collect():
            found = []
            async for number in numbers():
                found.append(number)
            return found
        result = add(), asyncio.run(collect()), [c.name for c in Color], add.__doc__
        '''
    )
    assert names["__doc__"] == "A module."
    assert names["count"] == 1
    assert names["result"] == (3, [1, 2], ["RED"], "Adds.")


def test_modules_are_imported_with_probes_and_their_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "probed_sample"
    package.mkdir()
    (package / "__init__.py").write_text("from probed_sample.part import choose\n")
    part = package / "part.py"
    part.write_text("def choose(x):\n    if x:\n        return 1\n    return 2\n")
    (package / "made.py").write_text("value = 1\n")
    finder = ProbeFinder(
        "probed_sample", is_omitted=lambda file: file.stem == "made", cache=tmp_path / "cache"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    for _ in ("compiled", "from the cache"):
        for name in [name for name in sys.modules if name.startswith("probed_sample")]:
            monkeypatch.delitem(sys.modules, name)
        import probed_sample  # type: ignore[import-not-found]
        import probed_sample.made  # type: ignore[import-not-found]

        assert probed_sample.choose(1) == 1
        assert finder.hits == {
            package / "__init__.py": [1],
            part: [1, 1, 1, 0, 0],
        }
    hits = {file: bytes(ran) for file, ran in finder.hits.items()}
    assert measure_file(part, hits[part]) == Measure(4, 3, 2, 1)
    assert list_missed([part], hits) == {str(part): ["past 2", "4"]}
    merge_hits(hits, {part: bytes([0, 0, 0, 1, 1])})
    assert measure_file(part, hits[part]).percent == 100
    assert measure_file(part, None) == Measure(4, 0, 2, 0)


def test_the_table_has_the_least_covered_package_first() -> None:
    lines = format_table({"b": Measure(10, 10, 4, 4), "a": Measure(10, 5, 2, 1)})
    assert [line.split()[0] for line in lines] == ["package", "a", "b", "all"]
    assert lines[-1].split() == ["all", "20", "5", "6", "1", "76.9%", "83.3%"]


@pytest.mark.parametrize(("workers", "floor", "code"), [("0", "50", 0), ("2", "51", 1)])
def test_a_run_below_its_floor_fails(tmp_path: Path, workers: str, floor: str, code: int) -> None:
    test = "import sample\ndef test_one():\n    assert sample.choose(1) == 1\n"
    result = run_tests(tmp_path, test, "-n", workers, "--coverage-floor", floor)
    assert result.returncode == code, result.stdout
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("all "))
    assert row[-2:] == ["66.7%", "50.0%"]
    message = "and 50.0 % of branches alone ran, below the floor of 51 % for each"
    assert (message in result.stdout) == (code == 1)


def run_tests(folder: Path, test: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Measure a test of a package that has a decision and a program."""
    (folder / "pyproject.toml").write_text(
        '[tool.branch-coverage]\npackage = "sample"\nsources = "sample"\nomit = []\n'
    )
    (folder / "sample").mkdir()
    (folder / "sample" / "__init__.py").write_text(
        "def choose(x):\n    if x:\n        return 1\n    return 2\n"
    )
    (folder / "sample" / "__main__.py").write_text(
        "if __name__ == '__main__':\n    import sys, sample\n    sys.exit(sample.choose(0))\n"
    )
    (folder / "test_one.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "branch_coverage.plugin", "-p", "xdist"]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'tools'}{os.pathsep}{folder}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


PROCESS = """
import os, shlex, subprocess, sys, sample

def test_one(tmp_path):
    python = [sys.executable, *shlex.split(os.environ["BRANCH_COVERAGE_CHILD"])]
    assert sample.choose(1) == 1
    environment = {"PYTHONPATH": os.path.dirname(__file__)}
    command = [*python, "-m", "sample"]
    assert subprocess.run(command, cwd=tmp_path, env=environment).returncode == 2
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_processes_that_a_test_starts_are_measured(tmp_path: Path, workers: str) -> None:
    result = run_tests(tmp_path, PROCESS, "-n", workers, "--coverage-floor", "100")
    assert result.returncode == 0, result.stdout
