"""Runs suites: contenders take turns, so that a slow minute of the machine hits all of them."""

import cProfile
import gc
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from bench import figures, machine, profiling
from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite

PrintLine = Callable[[str], None]
Result = dict[str, Any]


def run_suite(
    suite: Suite,
    scale: Scale,
    *,
    print_line: PrintLine,
    save: Callable[[Result], object],
    profile: bool = False,
) -> Result:
    """Run every case of a suite and return its result, ready to become JSON.

    It is saved after each case, so that a run that is cut short leaves what it has. A case that
    fails is named under `failures`; the others go on.
    """
    began = time.perf_counter()
    result: Result = {
        "suite": suite.name,
        "title": suite.title,
        "scale": scale.value,
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": machine.describe(suite.versions, suite.programs),
        "cases": [],
        "failures": [],
    }
    rounds = rounds_of(suite, scale)
    for case in suite.cases(scale):
        if profile:
            _profile(case, is_process=suite.is_process)
            continue
        try:
            entry = run_case(case, rounds)
        except Exception as error:  # one broken case must not hide the others
            result["failures"].append(f"{case.name}: {type(error).__name__}: {error}")
            print_line(f"  broken: {result['failures'][-1]}")
            continue
        result["cases"].append(entry)
        for line in show(entry):
            print_line(line)
        result["load_after"] = machine.load()
        result["calibration_after"] = machine.calibrate()
        result["seconds"] = round(time.perf_counter() - began, 1)
        save(result)
    return result


def rounds_of(suite: Suite, scale: Scale) -> int:
    """How often each contender is measured."""
    if suite.is_process:
        return scale.pick(1, 3, 5)
    return scale.pick(1, 5, 9)


def run_case(case: Case, rounds: int) -> dict[str, Any]:
    """Measure the contenders of a case at each of its sizes."""
    began = time.perf_counter()
    entry: dict[str, Any] = {
        "name": case.name,
        "unit": case.unit,
        "is_more_better": case.is_more_better,
        "note": case.note,
        "sizes": list(case.sizes),
        "contenders": {},
    }
    for size in case.sizes:
        with case.open(size) as contenders:
            measured = _interleave(contenders, case.rounds or rounds)
        _add_size(entry, contenders, measured)
    _add_growth(entry, case.sizes)
    entry["seconds"] = round(time.perf_counter() - began, 1)
    return entry


def _interleave(contenders: Contenders, rounds: int) -> dict[str, list[float]]:
    """A B C, A B C, …: one warm-up each, then the rounds."""
    present: dict[str, Measure] = {
        name: each for name, each in contenders.items() if not isinstance(each, Missing)
    }
    measured: dict[str, list[float]] = {name: [] for name in present}
    for number in range(rounds + 1):
        for name, measure in present.items():
            gc.collect()
            figure = measure()
            if number > 0 or rounds == 1:
                measured[name].append(figure)
    return {name: each[-rounds:] for name, each in measured.items()}


def _add_size(
    entry: dict[str, Any], contenders: Contenders, measured: dict[str, list[float]]
) -> None:
    for name, contender in contenders.items():
        if isinstance(contender, Missing):
            earlier = entry["contenders"].setdefault(name, {})
            earlier["stopped" if "sizes" in earlier else "missing"] = contender.reason
            continue
        summary: dict[str, Any] = figures.summarize(measured[name])
        if OURS in measured and name != OURS:
            summary |= figures.ratios(
                measured[OURS], measured[name], is_more_better=entry["is_more_better"]
            )
        entry["contenders"].setdefault(name, {"sizes": []})["sizes"].append(summary)


def _add_growth(entry: dict[str, Any], sizes: Sequence[int]) -> None:
    if len(sizes) < 2:
        return
    for each in entry["contenders"].values():
        if "missing" not in each:
            costs = [size["median"] for size in each["sizes"]]
            each["exponent"] = figures.exponent(sizes[: len(costs)], costs)


def show(entry: dict[str, Any]) -> list[str]:
    """A case as lines of text."""
    lines = [f"  {entry['name']} [{entry['unit']}] ({entry['seconds']:.0f} s)"]
    for name, each in entry["contenders"].items():
        if "missing" in each:
            lines.append(f"    {name:<26} not measured: {each['missing']}")
            continue
        for size, summary in zip(entry["sizes"], each["sizes"], strict=False):
            where = f"{name} (n={size:,})" if len(entry["sizes"]) > 1 else name
            text = f"    {where:<26} {summary['median']:>10,.4g}"
            text += f"  ({summary['low']:,.4g} to {summary['high']:,.4g})"
            if summary.get("ratio") is not None:
                text += f"  we: {figures.spread(summary)}"
            lines.append(text)
        if "stopped" in each:
            lines.append(f"    {'':<26} not measured any further: {each['stopped']}")
        if each.get("exponent") is not None:
            lines.append(f"    {'':<26} grows with exponent {each['exponent']}")
    lines += [f"    ! {remark}" for remark in figures.verdict(entry)]
    return lines


def _profile(case: Case, *, is_process: bool) -> None:
    """Show where our own time goes; our processes tell that themselves."""
    if is_process:
        profiling.want()
    with case.open(case.sizes[-1]) as contenders:
        measure = contenders.get(OURS)
        if measure is None or isinstance(measure, Missing):
            return
        print(f"--- {case.name}", flush=True)
        if is_process:
            measure()
            return
        profile = cProfile.Profile()
        profile.runcall(measure)
        profiling.show(profile)
