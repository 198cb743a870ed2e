"""The reconciler of Component: whether experiments can use it, and how many sources it has."""

from quarterdeck.apis.experiments.components import Component
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.meta.field import FieldError, duplicate
from quarterdeck.operators.experiments.components import check_sources
from quarterdeck.operators.experiments.conditions import VALID, Reason
from quarterdeck.operators.experiments.substitution import SubstitutionError, find_references
from quarterdeck.runtime import Context


async def reconcile(component: Component, ctx: Context[Component]) -> None:
    """Validate a Component, so that mistakes are reported before an experiment uses it."""
    problems = check(component)
    ctx.status.set(sources=len(component.spec.sources))
    if problems:
        message = "; ".join(problems)[:4096]
        ctx.status.set_condition(VALID, FALSE, Reason.INVALID_SPEC, message)
    else:
        ctx.status.set_condition(VALID, TRUE, Reason.VALIDATED, "experiments can use it")


def check(component: Component) -> list[str]:
    """Find problems of a component that do not depend on the experiments that use it."""
    spec = component.spec
    problems: list[FieldError] = list(check_sources(spec.sources, path="spec.sources"))
    seen: set[str] = set()
    for index, parameter in enumerate(spec.parameters):
        if parameter.name in seen:
            problems.append(duplicate(f"spec.parameters[{index}].name", parameter.name))
        seen.add(parameter.name)
    found = [str(problem) for problem in problems]
    for index, source in enumerate(spec.sources):
        for text in (source.repo_url, source.path, source.helm.values if source.helm else ""):
            try:
                list(find_references(text))
            except SubstitutionError as error:
                found.append(f"spec.sources[{index}]: {error}")
    return found
