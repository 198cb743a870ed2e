"""Statements and branches of a module, and probes that record which of them ran.

A probe stands before each statement. A branch has run when the first statement of its side has; an
`if` without `else`, a loop and a `match` without a last case for everything get a probe for the way
past them. As in coverage.py, comprehensions, conditional expressions and `and`/`or` do not count.
"""

import ast
from dataclasses import dataclass, field

PROBES = "__coverage_probes__"


@dataclass(frozen=True)
class Probe:
    """One place that runs or does not."""

    line: int
    is_statement: bool
    """False for the way past an `if`, a loop or a `match`."""


@dataclass
class Instrumented:
    """A module with probes in it; probe N stores into item N of the list named `PROBES`."""

    tree: ast.Module
    probes: list[Probe] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    """The probe that shows that a branch was taken, for each side of each decision."""


def insert_probes(source: bytes | str) -> Instrumented:
    """Parse a module and put a probe before each of its statements."""
    tree = ast.parse(source)
    module = Instrumented(tree)
    tree.body = _Inserter(module).insert(tree.body, has_docstring=True)
    return module


class _Inserter:
    def __init__(self, module: Instrumented) -> None:
        self._module = module

    def insert(self, body: list[ast.stmt], *, has_docstring: bool = False) -> list[ast.stmt]:
        """The body with probes; docstrings and imports from `__future__` stay first."""
        result: list[ast.stmt] = []
        for position, statement in enumerate(body):
            is_docstring = has_docstring and position == 0 and _is_text(statement)
            if not is_docstring and not _is_excluded(statement):
                result.append(self._make_probe(statement, is_statement=True))
                self._descend(statement)
            result.append(statement)
        return result

    def _make_probe(self, place: ast.stmt, *, is_statement: bool) -> ast.stmt:
        number = len(self._module.probes)
        self._module.probes.append(Probe(place.lineno, is_statement))
        target = ast.Subscript(ast.Name(PROBES, ast.Load()), ast.Constant(number), ctx=ast.Store())
        probe = ast.copy_location(ast.Assign([target], ast.Constant(value=1)), place)
        return ast.fix_missing_locations(probe)

    def _descend(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                statement.body = self.insert(statement.body, has_docstring=True)
            case ast.If():
                self._insert_sides(statement)
            case ast.For() | ast.AsyncFor():
                self._insert_sides(statement)
            case ast.While(test=ast.Constant()):
                statement.body = self.insert(statement.body)
            case ast.While():
                self._insert_sides(statement)
            case ast.Match():
                self._insert_cases(statement)
            case ast.With() | ast.AsyncWith():
                statement.body = self.insert(statement.body)
            case ast.Try() | ast.TryStar():
                self._insert_try(statement)
            case _:
                pass

    def _insert_sides(self, statement: ast.If | ast.For | ast.AsyncFor | ast.While) -> None:
        statement.body = self._insert_side(statement.body)
        if statement.orelse:
            statement.orelse = self._insert_side(statement.orelse)
        else:
            statement.orelse = [self._make_way_past(statement)]

    def _insert_side(self, body: list[ast.stmt]) -> list[ast.stmt]:
        first = len(self._module.probes)
        result = self.insert(body)
        if len(self._module.probes) > first:  # else nothing of it counts
            self._module.branches.append(first)
        return result

    def _make_way_past(self, statement: ast.stmt) -> ast.stmt:
        self._module.branches.append(len(self._module.probes))
        return self._make_probe(statement, is_statement=False)

    def _insert_cases(self, statement: ast.Match) -> None:
        for case in statement.cases:
            case.body = self._insert_side(case.body)
        last = statement.cases[-1]
        if last.guard is not None or not _matches_everything(last.pattern):
            past = ast.match_case(ast.MatchAs(), None, [self._make_way_past(statement)])
            statement.cases.append(past)
            ast.fix_missing_locations(ast.copy_location(past.pattern, statement))

    def _insert_try(self, statement: ast.Try | ast.TryStar) -> None:
        statement.body = self.insert(statement.body)
        for handler in statement.handlers:
            handler.body = self.insert(handler.body)
        statement.orelse = self.insert(statement.orelse)
        statement.finalbody = self.insert(statement.finalbody)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_excluded(statement: ast.stmt) -> bool:
    """Whether nothing of the statement counts: it cannot run, must not run, or does nothing."""
    match statement:
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case ast.Expr(ast.Constant(value)):
            return value is ...
        case ast.Expr(ast.Call(func=ast.Name("assert_never"))):
            return True
        case ast.Raise(exc=ast.Name("NotImplementedError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name("NotImplementedError"))):
            return True
        case ast.ImportFrom(module="__future__") | ast.Global() | ast.Nonlocal():
            return True
        case _:
            return False


def _matches_everything(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=inner) if inner is not None:
            return _matches_everything(inner)
        case ast.MatchOr(patterns=alternatives):
            return any(map(_matches_everything, alternatives))
        case _:
            return False
