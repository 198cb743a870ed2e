"""Compiled expressions and the environments they are compiled in."""

import functools
from collections.abc import Callable, Container, Mapping
from typing import Any

from quarterdeck.cel.checker.check import check, find_no_message
from quarterdeck.cel.checker.checker import FindMessage
from quarterdeck.cel.cost.budget import Budget
from quarterdeck.cel.cost.estimate import estimate
from quarterdeck.cel.cost.meter import Meter
from quarterdeck.cel.cost.units import Range
from quarterdeck.cel.errors import BudgetExceeded, CelError, CompileError, Issue
from quarterdeck.cel.introduction import EVERYTHING, get_newest_for_new_expressions
from quarterdeck.cel.library.constants import find_regex_problem
from quarterdeck.cel.schema.declaration import declare_type
from quarterdeck.cel.syntax.ast import Expr
from quarterdeck.cel.syntax.parser import parse
from quarterdeck.cel.types import BOOL, Kind, Type, optional_of
from quarterdeck.meta.schema import Node

OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class Program:
    """A checked expression, ready to run; it can be used by several callers at once."""

    __slots__ = (
        "_bounds",
        "_by_name",
        "_estimated",
        "_root",
        "_tree",
        "by_position",
        "parameters",
        "source",
        "type",
        "uses_old_self",
    )

    def __init__(
        self, source: str, tree: Expr, variables: Mapping[str, Type], *, used: Container[str]
    ) -> None:
        self.source = source
        self.type: Type = tree.type
        self._tree = tree
        self.uses_old_self = "oldSelf" in used
        self.parameters: tuple[str, ...] = tuple(
            [name for name in variables if name in used or name in ("self", "oldSelf")]
        )
        """Names of the arguments `run` takes."""
        self._root = variables.get("self")
        self._estimated: Range | None = None
        self._bounds: dict[int, int] = {}
        self.by_position: Callable[..., Any] = self._compile_then_run
        """The compiled code: it raises any exception where the interpreter has to evaluate."""
        self._by_name: Callable[..., Any] = self._compile_then_evaluate

    @property
    def estimated_cost(self) -> Range:
        """The cost estimated from the types alone; computed on first use."""
        if self._estimated is None:
            self._estimated = estimate(self._tree, root=self._root)
        return self._estimated

    def evaluate(self, variables: Mapping[str, Any], *, budget: Budget | None = None) -> Any:
        """The expression's value.

        With a budget the cost is counted against it; a budget that knows the size of the data
        stays fast, because the worst case of small data is known beforehand.

        Raises:
            EvaluationError: when it has no value.
            BudgetExceeded: when the budget does not suffice.
        """
        if budget is not None:
            if budget.size is None or not budget.can_afford(
                bound := self.get_cost_bound(budget.cap)
            ):
                return self.measure(variables, budget)
            budget.remaining -= bound
        try:
            return self._by_name(variables)
        except Exception:  # whatever it is, the interpreter explains it
            return _load_interpreter()(self._tree, variables)

    def run(self, *args: Any) -> Any:
        """The value for variables given in the order of `parameters`."""
        try:
            return self.by_position(*args)
        except Exception:  # whatever it is, the interpreter explains it
            return _load_interpreter()(self._tree, dict(zip(self.parameters, args, strict=True)))

    def _generate(self) -> None:
        """Compile the expression to Python code, on its first use."""
        from quarterdeck.cel.compiler.function import compile_function

        self.by_position, self._by_name = compile_function(self._tree, self.parameters)

    def _compile_then_run(self, *args: Any) -> Any:
        self._generate()
        return self.by_position(*args)

    def _compile_then_evaluate(self, variables: Mapping[str, Any]) -> Any:
        self._generate()
        return self._by_name(variables)

    def measure(self, variables: Mapping[str, Any], budget: Budget) -> Any:
        """Evaluate with the interpreter, and charge the cost of every step to the budget."""
        meter = Meter(budget.per_call)
        try:
            return _load_interpreter()(self._tree, variables, meter)
        finally:
            budget.spend(meter.cost)
            if budget.remaining < 0 and meter.cost <= budget.per_call:
                raise BudgetExceeded(OUT_OF_BUDGET)

    def evaluate_with_meter(self, variables: Mapping[str, Any], meter: Meter) -> Any:
        """Evaluate with the interpreter; the cost is in the meter afterwards."""
        return _load_interpreter()(self._tree, variables, meter)

    def get_cost_bound(self, cap: int) -> int:
        """The most the expression can cost on data of `cap` bytes (see `budget.cap_of`)."""
        known = self._bounds.get(cap)
        if known is None:
            known = self._bounds[cap] = estimate(self._tree, cap=cap).max
        return known


@functools.cache
def _load_interpreter() -> Callable[..., Any]:
    """The interpreter, loaded when compiled code raises or the cost must be counted."""
    from quarterdeck.cel.interpreter.interpret import interpret

    return interpret


class Environment:
    """The variables and types that an expression may use."""

    __slots__ = ("messages", "stored", "variables")

    def __init__(
        self,
        variables: Mapping[str, Type],
        *,
        messages: FindMessage = find_no_message,
        stored: Container[str] | None = None,
    ) -> None:
        self.variables = dict(variables)
        self.stored = stored
        """Expressions that were stored before; others are new and may use fewer functions. None:
        all count as stored."""
        self.messages = messages
        """Finds the message types that expressions may construct, by name."""

    @classmethod
    def for_schema(
        cls, node: Node, *, old_self: bool, root: bool = False, optional_old_self: bool = False
    ) -> "Environment":
        """Build the environment of a schema node: `self`, and `oldSelf` if `old_self` is set.

        Raises:
            CelError: when the node may not be seen by expressions.
        """
        declared = declare_type(node, root=root)
        if declared is None:
            raise CelError("unable to convert structural schema to CEL declarations")
        return cls.for_type(declared, old_self=old_self, optional_old_self=optional_old_self)

    @classmethod
    def for_type(
        cls,
        declared: Type,
        *,
        old_self: bool,
        optional_old_self: bool = False,
        stored: Container[str] | None = None,
    ) -> "Environment":
        """The same for a declared type."""
        variables = {"self": declared}
        if old_self:
            variables["oldSelf"] = optional_of(declared) if optional_old_self else declared
        return cls(variables, stored=stored)

    def compile(self, text: str, *, result: Type | None = BOOL) -> Program:
        """Check and compile an expression; `result=None` allows any type.

        Raises:
            CompileError: with every issue, its line and column.
        """
        is_new = self.stored is not None and text not in self.stored
        newest = get_newest_for_new_expressions() if is_new else EVERYTHING
        tree = parse(text, newest)
        findings = check(text, tree, self.variables, messages=self.messages, newest=newest)
        if result is not None and tree.type is not result and tree.type != result:
            wanted = "string" if result.kind is Kind.STRING else str(result)
            raise WrongResultType(text, wanted)
        for pattern in findings.patterns:
            if problem := find_regex_problem(pattern):
                raise InvalidPattern(text, problem)
        return Program(text, tree, self.variables, used=findings.used)


class WrongResultType(CompileError):
    """Raised when an expression is valid but has the wrong result type."""

    def __init__(self, source: str, wanted: str) -> None:
        super().__init__(source, [Issue(1, 1, f"cel expression must evaluate to a {wanted}")])
        self.wanted = wanted


class InvalidPattern(CompileError):
    """Raised when an expression is well typed but has an invalid constant pattern."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, [Issue(1, 1, problem)])
        self.problem = problem


__all__ = ["Environment", "InvalidPattern", "Program", "WrongResultType"]
