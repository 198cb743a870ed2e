"""`python -m quarterdeck.codegen generate|manifests|verify`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from quarterdeck.codegen import guard, recorded_uses
from quarterdeck.codegen.files import Target, find_differences, write
from quarterdeck.codegen.registry import GENERATORS
from quarterdeck.meta import builtins

VERIFY = "verify"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = _build_parser().parse_args(arguments)
    root: Path = options.root
    if not (root / "pyproject.toml").is_file():
        _print_error(f"{root}: not the root of the repository; run this there or give --root")
        return 2
    if options.command == VERIFY:
        return _report([*verify(root)])
    guarded = options.command == Target.MANIFESTS and not options.allow_breaking
    if guarded and (broken := guard.find_breaking_changes(root)):
        hint = "declare a new version of the kind, or pass --allow-breaking"
        return _report([f"{what}; {hint}" for what in broken])
    for generator in GENERATORS:
        if generator.target == options.command:
            for path in write(root, generator):
                sys.stdout.write(f"{path}\n")
    return 0


def verify(root: Path) -> Iterator[str]:
    """Everything that is not as it should be."""
    for difference in find_differences(root, GENERATORS):
        yield f"{difference}; run make update"
    yield from guard.find_breaking_changes(root)
    yield from recorded_uses.find_differences(root)
    yield from builtins.verify()


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m quarterdeck.codegen", description=__doc__)
    parser.add_argument("command", choices=[*(target.value for target in Target), VERIFY])
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the repository's root")
    parser.add_argument(
        "--allow-breaking",
        action="store_true",
        help="write CRDs even if stored objects would no longer fit them",
    )
    return parser


def _report(problems: Sequence[str]) -> int:
    for problem in problems:
        _print_error(problem)
    return 1 if problems else 0


def _print_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
