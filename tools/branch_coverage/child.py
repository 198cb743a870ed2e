"""A process that a test starts, measured like the test itself.

    python tools/branch_coverage/child.py ROOT FOLDER -m quarterdeck.cli server

ROOT is the folder of the project. What the process ran is written into FOLDER when it ends; one
that is killed writes nothing. Nothing is read from the environment, which a test may empty.
"""

import atexit
import marshal
import os
import runpy
import shlex
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # not this folder: its modules have plain names

from branch_coverage.importer import ProbeFinder
from branch_coverage.report import merge_hits
from branch_coverage.settings import read_settings

OPTIONS = "BRANCH_COVERAGE_CHILD"
"""The variable with what a test puts between the interpreter and `-m MODULE`, in shell words."""


def prepare_environment(root: Path) -> Path:
    """Tell tests how to start a process that is measured; the folder it writes to."""
    folder = tempfile.mkdtemp(prefix="branch-coverage-")
    os.environ[OPTIONS] = shlex.join([str(Path(__file__).resolve()), str(root), folder])
    return Path(folder)


def read_children(folder: Path) -> dict[Path, bytes]:
    """What the processes that have ended ran."""
    total: dict[Path, bytes] = {}
    for file in sorted(folder.glob("*.hits")):
        hits = marshal.loads(file.read_bytes())
        merge_hits(total, {Path(module): ran for module, ran in hits.items()})
    return total


def main() -> None:
    """Run the module that the arguments name, as `python -m` does."""
    root, folder, option, module, *arguments = sys.argv[1:]
    if option != "-m":
        raise SystemExit("branch_coverage: expected ROOT FOLDER -m MODULE")
    finder = read_settings(Path(root)).build_finder()
    sys.meta_path.insert(0, finder)
    atexit.register(_write, finder, Path(folder))
    sys.argv = [module, *arguments]
    sys.path[0] = str(Path.cwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _write(finder: ProbeFinder, folder: Path) -> None:
    if folder.is_dir():  # else the tests have ended before
        hits = {str(file): bytes(ran) for file, ran in finder.hits.items()}
        draft = folder / f"{os.getpid()}.new"
        draft.write_bytes(marshal.dumps(hits))
        draft.replace(draft.with_suffix(".hits"))


if __name__ == "__main__":
    main()
