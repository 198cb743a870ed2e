"""Change one thing at a time in a module and run its tests: what no test notices is printed.

    python tools/mutate.py --sample 20 src/quarterdeck/wire/path.py tests/unit/wire/test_path.py

Every module named is changed in a copy of `src`, never in place. `--sample` chooses that many
mutants by `--seed`, so that a run can be repeated. A change of a message is no mutant: strings
stay. The exit code is 1 if a mutant survived.
"""

import argparse
import ast
import compileall
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMIT_S = 1200
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    module: Path
    line: int
    before: str
    after: str
    source: str


def change(node: ast.AST) -> ast.AST | None:
    """Another node in its place, None where there is nothing to change."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            return ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
        case ast.If(ast.Name() | ast.Attribute() | ast.Call() as test, body, orelse):
            return ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(bool() as value):
            return ast.Constant(not value)
        case ast.Constant(int() as value):
            return ast.Constant(value + 1)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            return ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call() | ast.Await()):
            return ast.Pass()
        case ast.Continue():
            return ast.Break()
    return None


def find_mutants(module: Path) -> Iterator[Mutant]:
    """Every change of a module, one at a time."""
    tree = ast.parse(module.read_text())
    for index, node in enumerate(ast.walk(tree)):
        changed = change(node)
        if changed is None or ast.unparse(changed) == ast.unparse(node):
            continue
        other = copy.deepcopy(tree)
        target = list(ast.walk(other))[index]
        source = ast.unparse(ast.fix_missing_locations(_Replace(target, changed).visit(other)))
        yield Mutant(module, node.lineno, _first_line(node), _first_line(changed), source)


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, changed: ast.AST) -> None:
        self.target = target
        self.changed = changed

    def visit(self, node: ast.AST) -> ast.AST:
        return self.changed if node is self.target else self.generic_visit(node)


def is_killed(mutant: Mutant, folder: Path, tests: list[str]) -> bool:
    """Whether the tests fail on a mutant; tests that hang count as failed."""
    file = folder / mutant.module.resolve().relative_to(ROOT)
    original = file.read_bytes()
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(mutant.source)
    try:
        return _run_tests(folder, tests) != 0
    finally:
        file.write_bytes(original)


def _run_tests(folder: Path, tests: list[str]) -> int:
    environment = os.environ | {
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",  # repeatable examples
    }
    command = [sys.executable, "-m", "pytest", "-qx", "-n0", "-p", "no:randomly", *tests]
    try:
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT_S
        ).returncode
    except subprocess.TimeoutExpired:
        return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", help="modules and folders of src, then of tests")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="mutants (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample")
    options = parser.parse_args()
    sources = [Path(each) for each in options.paths if not each.startswith("tests")]
    tests = [each for each in options.paths if each.startswith("tests")]
    modules = [
        file for each in sources for file in (each.rglob("*.py") if each.is_dir() else [each])
    ]
    mutants = [mutant for module in sorted(modules) for mutant in find_mutants(module)]
    if options.sample:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(str(folder / "src"), quiet=2)
        if _run_tests(folder, tests):
            print("mutate: the tests fail without a mutation: fix them first", file=sys.stderr)
            return 2
        survivors = 0
        for mutant in mutants:
            if is_killed(mutant, folder, tests):
                continue
            survivors += 1
            where = f"{mutant.module}:{mutant.line}"
            print(f"survived {where}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{len(mutants)} mutants, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
