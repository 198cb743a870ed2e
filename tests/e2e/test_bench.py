"""The benchmarks run, for correctness only: no figure is judged here."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench import environment, figures, harness, progress, report, results, suites
from bench.suite import OURS, Case, Contenders, Missing, Scale, Suite

REPOSITORY = Path(__file__).parents[2]


def test_every_suite_has_its_name_and_a_title() -> None:
    for name in suites.names():
        suite = suites.load(name)
        assert suite.name == name and suite.title


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["wire"], id="functions"),
        # waits for processes within limits of seconds, which a busy machine may not keep
        pytest.param([], id="everything", marks=[pytest.mark.full, pytest.mark.timeout(1800)]),
    ],
)
def test_a_quick_run_measures_every_suite(names: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--results", str(tmp_path), *names]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*.json"))]
    assert [result["suite"] for result in found] == (names or suites.names())
    for result in found:
        assert result["cases"] and result["machine"]["calibration"] > 0
        for case in result["cases"]:
            assert any("sizes" in entry for entry in case["contenders"].values())
            assert "missing" not in case["contenders"].get(OURS, {}), case["name"]
    text = "".join(report.pages(found).values())
    assert all(f"## {name}: " in text for name in names or suites.names())


def test_an_unknown_suite_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "nothing"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unknown suite nothing" in done.stderr


@pytest.mark.parametrize(
    ("costs", "expected"),
    [([1, 2, 4, 8], 1.0), ([1, 4, 16, 64], 2.0), ([5, 5, 5, 5], 0.0)],
    ids=["linear", "quadratic", "constant"],
)
def test_growth_is_fitted(costs: list[float], expected: float) -> None:
    assert figures.exponent([10, 20, 40, 80], costs) == expected


def test_losses_and_growth_are_reported() -> None:
    case = {
        "contenders": {
            "quarterdeck": {"sizes": [{"median": 2.0}], "exponent": 2.0},
            "faster": {"sizes": [{"median": 1.0, "ratio": 0.5}]},
            "absent": {"missing": "not installed"},
        }
    }
    assert figures.verdict(case) == [
        "quarterdeck grows superlinearly (exponent 2.0)",
        "faster is 2x better than us",
    ]


def test_a_ratio_says_how_many_times_better_we_are() -> None:
    assert figures.ratio(2.0, 6.0, is_more_better=False) == 3.0
    assert figures.ratio(6.0, 2.0, is_more_better=True) == 3.0
    assert figures.ratio(0.0, 2.0, is_more_better=False) is None


def test_a_ratio_has_the_range_of_its_rounds() -> None:
    found = figures.ratios([1.0, 2.0, 4.0], [4.0, 4.0, 4.0], is_more_better=False)
    assert found == {"ratio": 2.0, "ratio_low": 1.0, "ratio_high": 4.0}
    assert figures.spread(found) == "2x (1 to 4)"
    assert figures.spread({"ratio": 2.0}) == "2x"


@contextmanager
def _two(_: int) -> Iterator[Contenders]:
    yield {OURS: lambda: 1.0, "peer": lambda: 3.0}


@contextmanager
def _broken(_: int) -> Iterator[Contenders]:
    raise RuntimeError("no such thing")
    yield {}


def test_a_broken_case_loses_nothing_but_itself() -> None:
    cases = [Case(name="first", unit="s", open=_broken), Case(name="second", unit="s", open=_two)]
    lines: list[str] = []
    kept: list[object] = []
    suite = Suite(name="none", title="None", cases=lambda _: cases)
    result = harness.run_suite(suite, Scale.QUICK, print_line=lines.append, save=kept.append)
    assert result["failures"] == ["first: RuntimeError: no such thing"]
    assert [case["name"] for case in result["cases"]] == ["second"]
    assert any("broken: first" in line for line in lines)
    assert kept == [result], "saved when a case is done"
    assert result["cases"][0]["contenders"]["peer"]["sizes"][0]["ratio"] == 3.0


@contextmanager
def _gives_up(size: int) -> Iterator[Contenders]:
    peer = Missing("it timed out") if size > 1 else lambda: 3.0
    yield {OURS: lambda: 1.0, "peer": peer}


def test_a_peer_that_gives_up_keeps_the_sizes_it_managed() -> None:
    case = harness.run_case(Case(name="n", unit="s", open=_gives_up, sizes=(1, 2)), 1)
    assert len(case["contenders"]["peer"]["sizes"]) == 1
    assert case["contenders"]["peer"]["stopped"] == "it timed out"
    assert any("not measured any further" in line for line in harness.show(case))
    result = {**results.load_all()[0], "cases": [case]}
    assert "| n, n=2 | peer | | it timed out | | |" in "".join(report.pages([result]).values())


def test_children_see_nothing_of_the_caller_that_would_favor_somebody() -> None:
    given = {"PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1", "GOGC": "off", "HTTPS_PROXY": "x"}
    assert environment.clean(given) == {"PATH": "/bin"}
    assert environment.clean({"PYTHONPATH": "src"}) == {"PYTHONPATH": "src"}


def test_a_run_is_estimated_by_the_last_one_of_its_scale(tmp_path: Path) -> None:
    results.save({"suite": "cel", "scale": "full", "seconds": 125.0}, tmp_path)
    assert "2:05" in progress.estimate(["cel"], Scale.FULL, tmp_path)
    for names, scale in ((["cel"], Scale.STANDARD), (["cel", "wire"], Scale.FULL)):
        rough = f"about {progress.ROUGH_MIN[scale]} minutes"
        assert rough in progress.estimate(names, scale, tmp_path)


def test_full_results_stand_behind_the_standard_ones(tmp_path: Path) -> None:
    for folder, scale in ((tmp_path, "standard"), (tmp_path / "full", "full")):
        for name in ("wire", "cel"):
            results.save({"suite": name, "scale": scale}, folder)
    found = [(each["suite"], each["scale"]) for each in results.load_all(tmp_path)]
    both = ("standard", "full")
    assert found == [(name, scale) for name in ("cel", "wire") for scale in both]


def test_the_committed_pages_are_the_ones_their_results_give() -> None:
    for path, text in report.pages(results.load_all()).items():
        assert path.read_text() == text
