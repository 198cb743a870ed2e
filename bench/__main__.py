"""`python -m bench`: run suites, write results, print tables."""

import argparse
import sys
import time
from pathlib import Path

from bench import harness, machine, plot, results, suites
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
            f"bench: no suite {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr
        )
        return 2
    scale = Scale.QUICK if options.quick else Scale.FULL if options.full else Scale.STANDARD
    folder = options.results or results.folder_for(scale.value)
    failed = [
        name for name in options.names or known if not _run(name, scale, options.profile, folder)
    ]
    if failed:
        print(f"bench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run(name: str, scale: Scale, profile: bool, folder: Path) -> bool:
    start = time.perf_counter()
    suite = suites.load(name)
    print(f"{suite.name}: {suite.title} ({scale.value})")
    cores = machine.affinity()
    try:
        result = harness.run_suite(suite, scale, tell=print, profile=profile)
    except Exception as error:  # one broken suite must not hide the others
        print(f"  broken: {type(error).__name__}: {error}", file=sys.stderr)
        if profile:
            raise
        return False
    finally:
        machine.restore(cores)
    if not profile:
        result["seconds"] = round(time.perf_counter() - start, 1)
        results.save(result, folder)
        plot.draw(result, folder)
        print(f"  {result['seconds']} s, calibration {result['machine']['calibration']}")
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites to run; all without one")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a short run, for correctness")
    size.add_argument("--full", action="store_true", help="every size, more rounds")
    parser.add_argument("--profile", action="store_true", help="show where our own time goes")
    parser.add_argument("--list", action="store_true", help="name the suites")
    parser.add_argument("--results", type=Path, help="the folder results are written to")
    return parser


if __name__ == "__main__":
    sys.exit(main())
