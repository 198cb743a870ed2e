"""The expressions of one policy on one write. Pure."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.server.admission.computation import MakeBudget
from quarterdeck.server.admission.match_conditions import ConditionFailed, match_conditions
from quarterdeck.server.admission.metrics import (
    COMPILE_ERROR,
    INVALID_ERROR,
    NO_ERROR,
    OUT_OF_BUDGET,
)
from quarterdeck.server.admission.policies.policy import Expression, Policy, Validation

if TYPE_CHECKING:
    from quarterdeck import cel

_MAX_MESSAGE_BYTES = 5 * 1024
_MAX_ANNOTATION = 10 * 1024


class Decision(NamedTuple):
    """A failed validation, or an error, because of which a policy refuses a write."""

    position: int
    """Index of the validation; -1 for errors outside of validations."""
    message: str
    reason: str = "Invalid"
    is_forced: bool = False
    """Whether the write is refused even if the binding's actions do not include Deny."""
    error_type: str = NO_ERROR
    """The label `error_type` of the metrics."""


class Outcome(NamedTuple):
    """The decisions of a policy about a write, and its audit annotations."""

    decisions: list[Decision]
    annotations: dict[str, str]


class OutOfBudget(Exception):
    """Raised when the expressions of a policy together exceed their cost budget."""


class Variables(dict[str, Any]):
    """The variables of a policy, each computed on first use."""

    def __init__(
        self, expressions: Mapping[str, Expression], known: Mapping[str, Any], budget: "cel.Budget"
    ) -> None:
        super().__init__()
        self._expressions = expressions
        self._known = known
        self._budget = budget
        self._failures: dict[str, Exception] = {}

    def __missing__(self, name: str) -> Any:
        from quarterdeck import cel

        expression = self._expressions.get(name)
        if expression is None:
            raise KeyError(name)
        if (failure := self._failures.get(name)) is not None:
            raise failure
        try:
            if expression.program is None:
                raise cel.EvaluationError(expression.problem)
            value = expression.program.evaluate(self._known, budget=self._budget)
        except cel.CelError as error:
            text = f'composited variable "{name}" fails to evaluate: {error}'
            failure = cel.EvaluationError(text)
            self._failures[name] = failure
            raise failure from error
        self[name] = value
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a variable, computed on first use."""
        return self[name] if name in self._expressions else default


def evaluate(
    policy: Policy, known: dict[str, Any], *, size: int, make_budget: MakeBudget
) -> Outcome:
    """Evaluate a policy on a write; `known` are CEL variables, `size` the bytes of the objects."""
    has_params = policy.param_kind is not None
    if policy.conditions:
        try:
            matches = match_conditions(
                policy.conditions,
                known,
                make_budget=make_budget,
                has_params=has_params,
                size=size,
            )
        except ConditionFailed as error:
            return Outcome(_refuse(policy, str(error)), {})
        if not matches:
            return Outcome([], {})
    programs = policy.programs
    budget = make_budget(size=size)
    if programs.variables:
        known = {**known}
        known["variables"] = Variables(programs.variables, known, budget)
    decisions: list[Decision] = []
    for index, validation in enumerate(programs.validations):
        try:
            decisions += _validate(policy, index, validation, known=known, budget=budget)
        except OutOfBudget as error:
            return Outcome(_refuse(policy, str(error), error_type=OUT_OF_BUDGET), {})
    annotations: dict[str, str] = {}
    for key, expression in programs.annotations:
        found = _annotate(policy, expression, known=known, budget=make_budget())
        if isinstance(found, Decision):
            decisions.append(found)
        elif found:
            annotations[key] = found
    return Outcome(decisions, annotations)


def _refuse(
    policy: Policy, message: str, index: int = -1, *, error_type: str = INVALID_ERROR
) -> list[Decision]:
    """Turn an error into a refusal; into nothing if the failure policy is Ignore."""
    return [Decision(index, message, error_type=error_type)] if policy.fails_closed else []


def _validate(
    policy: Policy,
    index: int,
    validation: Validation,
    *,
    known: Mapping[str, Any],
    budget: "cel.Budget",
) -> Iterator[Decision]:
    from quarterdeck import cel

    expression = validation.expression
    if expression.program is None:
        yield from _refuse(policy, expression.problem, index, error_type=COMPILE_ERROR)
        return
    try:
        if expression.program.evaluate(known, budget=budget) is True:
            return
    except cel.CelError as error:
        if budget.remaining < 0:
            raise OutOfBudget(str(error)) from error
        text = f"expression '{expression.text}' resulted in error: {error}"
        yield from _refuse(policy, text, index)
        return
    message = (
        _compute_message(validation, known, budget)
        or validation.message
        or f"failed expression: {expression.text.strip()}"
    )
    yield Decision(index, message, validation.reason)


def _compute_message(validation: Validation, known: Mapping[str, Any], budget: "cel.Budget") -> str:
    """Evaluate the message expression; empty if it fails, has line breaks or is too long."""
    from quarterdeck import cel

    expression = validation.message_expression
    if expression is None or expression.program is None:
        return ""
    try:
        found = expression.program.evaluate(known, budget=budget)
    except cel.CelError:
        return ""
    text = found.strip() if isinstance(found, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MAX_MESSAGE_BYTES else text


def _annotate(
    policy: Policy, expression: Expression, *, known: Mapping[str, Any], budget: "cel.Budget"
) -> Decision | str:
    """Evaluate an audit annotation; an error becomes a forced refusal unless errors are ignored."""
    from quarterdeck import cel

    try:
        if expression.program is None:
            raise cel.EvaluationError(expression.problem)
        found = expression.program.evaluate(known, budget=budget)
    except cel.CelError as error:
        if not policy.fails_closed:
            return ""
        text = f"expression '{expression.text}' resulted in error: {error}"
        return Decision(-1, text, is_forced=True, error_type=INVALID_ERROR)
    return found.strip()[:_MAX_ANNOTATION] if isinstance(found, str) else ""
