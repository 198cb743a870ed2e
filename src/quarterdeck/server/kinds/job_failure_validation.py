"""Failure policies of jobs: what exit codes and conditions of a pod mean for its job."""

from collections.abc import Iterator, Sequence

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    OMITTED,
    Bare,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    quote,
    required,
    too_many,
)
from quarterdeck.server.kinds.conditions import STATUSES
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_MOST_RULES = 20
_MOST_CODES = 255
_MOST_CONDITIONS = 20


def validate_failure_policy(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the rules of a job's failure policy; `path` is that of the rules."""
    rules = get_items(spec, "podFailurePolicy", "rules")
    if len(rules) > _MOST_RULES:
        yield too_many(path, len(rules), _MOST_RULES)
    containers = {
        each.get("name") or ""
        for member in ("containers", "initContainers")
        for each in get_items(spec, "template", "spec", member)
    }
    for index, rule in enumerate(rules):
        yield from _validate_action(spec, rule.get("action") or "", f"{path}[{index}].action")
        yield from _validate_rule(rule, f"{path}[{index}]", containers)


def _validate_action(spec: Object, action: str, path: str) -> Iterator[FieldError]:
    if action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(path, action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from _validate_choice(action, path, _ACTIONS)


def _validate_rule(rule: Object, path: str, containers: set[str]) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes"), get_items(rule, "onPodConditions")
    if codes is not None:
        yield from _validate_codes(codes, f"{path}.onExitCodes", containers)
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(f"{path}.onPodConditions", len(conditions), _MOST_CONDITIONS)
    for index, condition in enumerate(conditions):
        place, kind = f"{path}.onPodConditions[{index}]", condition.get("type") or ""
        for problem in names.check_qualified_name(kind):
            yield invalid(f"{place}.type", kind, problem)
        yield from _validate_choice(condition.get("status") or "", f"{place}.status", STATUSES)
    if codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield invalid(path, OMITTED, text)
    elif codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        yield invalid(path, OMITTED, text)


def _validate_codes(codes: Object, path: str, containers: set[str]) -> Iterator[FieldError]:
    operator, values = codes.get("operator") or "", get_items(codes, "values")
    yield from _validate_choice(operator, f"{path}.operator", _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, text)
    place = f"{path}.values"
    listed = f"{{{', '.join(map(str, values))}}}"
    shown = Bare(f"[]int32{'(nil)' if codes.get('values') is None else listed}")
    if not values:
        yield invalid(place, shown, "at least one value is required")
    elif len(values) > _MOST_CODES:
        yield too_many(place, len(values), _MOST_CODES)
    seen: set[int] = set()
    for index, code in enumerate(values):
        if operator == "In" and code == 0:
            yield invalid(f"{place}[{index}]", code, "must not be 0 for the In operator")
        if code in seen:
            yield duplicate(f"{place}[{index}]", code)
        seen.add(code)
    if values != sorted(values):
        yield invalid(place, shown, "must be ordered")


def _validate_choice(value: str, path: str, choices: Sequence[str]) -> Iterator[FieldError]:
    if not value:
        yield required(path, f"valid values: [{' '.join(map(quote, choices))}]")
    elif value not in choices:
        yield not_supported(path, value, choices)
