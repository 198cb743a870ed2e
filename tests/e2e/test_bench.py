"""The benchmarks run, for correctness only: no figure is judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench import figures, report, suites

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_quick_run_measures_every_suite(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*.json"))]
    assert [result["suite"] for result in found] == suites.names()
    for result in found:
        assert result["cases"] and result["machine"]["calibration"] > 0
        for case in result["cases"]:
            assert any("sizes" in entry for entry in case["contenders"].values())
    text = report.page(found)
    assert all(f"## {name}: " in text for name in suites.names())


def test_an_unknown_suite_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "nothing"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no suite nothing" in done.stderr


@pytest.mark.parametrize(
    ("costs", "expected"),
    [([1, 2, 4, 8], 1.0), ([1, 4, 16, 64], 2.0), ([5, 5, 5, 5], 0.0)],
    ids=["linear", "quadratic", "constant"],
)
def test_growth_is_fitted(costs: list[float], expected: float) -> None:
    assert figures.exponent([10, 20, 40, 80], costs) == expected


def test_losses_and_growth_are_called_out() -> None:
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


def test_the_committed_page_is_the_one_its_results_give() -> None:
    from bench import results

    assert report.PAGE.read_text() == report.page(results.load_all())
