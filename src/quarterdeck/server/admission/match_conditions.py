"""Expressions that decide whether a webhook or policy is about a write. Pure."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.server.admission.attributes import AdmissionAttributes

if TYPE_CHECKING:
    from quarterdeck import cel

_BUDGET = 2_500_000


class ConditionFailed(Exception):
    """Raised when an expression has no value; the text names it and says why."""


@functools.lru_cache(maxsize=1024)
def compile_condition(expression: str) -> "cel.Program":
    """Compile an expression; what is stored has been checked before."""
    from quarterdeck import cel

    variables = {
        "object": cel.DYN,
        "oldObject": cel.DYN,
        "request": cel.DYN,
        "authorizer": cel.AUTHORIZER,
    }
    return cel.Environment(variables).compile(expression)


def build_variables(
    attributes: AdmissionAttributes, authorizer: object, request: Mapping[str, Any]
) -> dict[str, Any]:
    """What expressions may refer to."""
    return {
        "object": attributes.value,
        "oldObject": attributes.old,
        "request": request,
        "authorizer": authorizer,
    }


def match_conditions(expressions: Sequence[str], variables: Mapping[str, Any]) -> bool:
    """Whether all expressions are true.

    A false one decides, whatever the others would say.

    Raises:
        ConditionFailed: if one has no value and none is false.
    """
    failure: ConditionFailed | None = None
    from quarterdeck import cel

    budget = cel.Budget(_BUDGET, per_call=_BUDGET)
    for expression in expressions:
        try:
            if compile_condition(expression).evaluate(variables, budget=budget) is not True:
                return False
        except cel.CelError as error:
            failure = failure or ConditionFailed(
                f"expression '{expression}' resulted in error: {error}"
            )
    if failure is not None:
        raise failure
    return True
