"""`python -m bench`: run suites, write results, print tables."""

import argparse
import sys
import time
from pathlib import Path

from bench import environment, harness, knobs, machine, plot, results, suites
from bench.progress import Progress
from bench.suite import Scale


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    options = _parser().parse_args(arguments)
    known = suites.names()
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        print(
            f"bench: unknown suite {', '.join(unknown)}; must be one of: {', '.join(known)}",
            file=sys.stderr,
        )
        return 2
    scale = Scale.QUICK if options.quick else Scale.FULL if options.full else Scale.STANDARD
    if options.soak is not None:
        knobs.soak(options.soak)
    return _run_all(options.names or known, scale, options)


def _run_all(names: list[str], scale: Scale, options: argparse.Namespace) -> int:
    progress = Progress(names, scale)
    _print(progress.start())
    if machine.python_build() == machine.UNOPTIMIZED:
        _print(
            "bench: this Python was built without optimizations: programs in Python take a quarter"
            " longer than on Debian's; make clean, then make bench PYTHON=/usr/bin/python3"
        )
    environment.compile_modules()
    folder = options.results or results.folder_for(scale.value)
    failed = False
    for name in names:
        began = time.perf_counter()
        problem = _run(name, scale, progress=progress, profile=options.profile, folder=folder)
        progress.done(name, time.perf_counter() - began, problem)
        failed = failed or bool(problem)
    for line in progress.end():
        _print(line)
    return 1 if failed else 0


def _run(name: str, scale: Scale, *, progress: Progress, profile: bool, folder: Path) -> str:
    """Run one suite; what went wrong, if anything did."""
    cores = machine.affinity()
    try:
        suite = suites.load(name)
        _print(progress.suite(name, suite.title))
        result = harness.run_suite(
            suite,
            scale,
            print_line=_print,
            save=lambda result: results.save(result, folder),
            profile=profile,
        )
    except Exception as error:  # one broken suite must not hide the others
        if profile:
            raise
        _print(f"  broken: {type(error).__name__}: {error}")
        return f"{type(error).__name__}: {error}"
    finally:
        machine.restore(cores)
    if profile:
        return ""
    problem = "; ".join(result["failures"])
    if not result["cases"]:
        _print("  nothing was measured" if problem else f"  nothing at {scale.value} scale")
        return problem
    plot.draw(result, folder)
    _print(f"  {result['seconds']} s, calibration {result['machine']['calibration']}")
    return problem


def _print(line: str) -> None:
    """Print at once, also where the output is a file or a pipe."""
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites to run; all without one")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a short run, for correctness")
    size.add_argument("--full", action="store_true", help="every size, more rounds, the soak")
    parser.add_argument("--profile", action="store_true", help="show where our own time goes")
    parser.add_argument("--list", action="store_true", help="name the suites")
    parser.add_argument("--results", type=Path, help="the folder results are written to")
    parser.add_argument(
        "--soak", type=float, metavar="MINUTES", help="how long each server soaks in a full run"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
