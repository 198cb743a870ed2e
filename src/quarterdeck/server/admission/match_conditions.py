"""Match conditions: expressions that decide if a webhook or policy applies to a write. Pure."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.computation import MakeBudget
from quarterdeck.server.admission.request import build_request, convert_for_review
from quarterdeck.server.kinds.admission_expressions import (
    InvalidExpression,
    build_environment,
    compile_expression,
)
from quarterdeck.server.registry.resource import Resource

if TYPE_CHECKING:
    from quarterdeck import cel

_BUDGET = 2_500_000


class ConditionFailed(Exception):
    """Raised when an expression cannot be evaluated; the message has the text and the cause."""


@functools.lru_cache(maxsize=1024)
def compile_condition(expression: str, *, has_params: bool = False) -> "cel.Program":
    """Compile an expression; stored expressions were validated when they were written."""
    from quarterdeck import cel

    return compile_expression(
        build_environment(has_params=has_params), expression.strip(), (cel.BOOL,)
    )


def build_variables(
    attributes: AdmissionAttributes, authorizer: object, seen_as: Resource
) -> dict[str, Any]:
    """Build the variables of expressions, with the objects in the version the webhook sees."""
    return {
        "object": convert_for_review(attributes, attributes.value, seen_as),
        "oldObject": convert_for_review(attributes, attributes.old, seen_as),
        "request": build_request(attributes, seen_as),
        "authorizer": authorizer,
        "namespaceObject": None,
    }


def match_conditions(
    expressions: Sequence[str],
    variables: Mapping[str, Any],
    *,
    make_budget: MakeBudget,
    has_params: bool = False,
    size: int | None = None,
) -> bool:
    """Whether all expressions are true; `size` is the size of the objects in bytes, if known.

    One false expression decides, even if others fail.

    Raises:
        ConditionFailed: if an expression fails and none is false.
    """
    failure: ConditionFailed | None = None
    from quarterdeck import cel

    budget = make_budget(_BUDGET, per_call=_BUDGET, size=size)
    for expression in expressions:
        try:
            program = compile_condition(expression, has_params=has_params)
            if program.evaluate(variables, budget=budget) is not True:
                return False
        except (cel.CelError, InvalidExpression) as error:
            failure = failure or ConditionFailed(
                f"expression '{expression}' resulted in error: {error}"
            )
    if failure is not None:
        raise failure
    return True
