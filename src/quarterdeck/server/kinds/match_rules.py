"""Validation of the rules, selectors and match conditions of webhooks and admission policies."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    quote,
    required,
    too_many,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.admission_expressions import (
    build_environment,
    find_expression_error,
)
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS = 64


def validate_rules(rules: Sequence[Object], path: str) -> Iterator[FieldError]:
    """Check rules: operations on groups, versions and resources."""
    for index, rule in enumerate(rules):
        yield from _validate_names(rule, f"{path}[{index}]")
        yield from _validate_rule(rule, f"{path}[{index}]")


def _validate_names(rule: Object, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        for problem in names.check_path_segment(name):
            yield invalid(f"{path}.resourceNames[{index}]", name, problem)
        if name in seen:
            yield duplicate(f"{path}.resourceNames[{index}]", name)
        seen.add(name)


def _validate_rule(rule: Object, path: str) -> Iterator[FieldError]:
    operations = rule.get("operations") or []
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        shown = format_go_list("admissionregistration.OperationType", operations)
        text = "if '*' is present, must not specify other operations"
        yield invalid(f"{path}.operations", shown, text)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    yield from _validate_wildcard(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _validate_wildcard(versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _validate_resources(rule.get("resources") or [], f"{path}.resources")
    yield from validators.validate_enum(f"{path}.scope", rule.get("scope"), _SCOPES)


def _validate_wildcard(values: Sequence[str], path: str, plural: str) -> Iterator[FieldError]:
    if not values:
        yield required(path)
    if len(values) > 1 and "*" in values:
        text = f"if '*' is present, must not specify other {plural}"
        yield invalid(path, validators.format_go_strings(values), text)


def _validate_resources(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    with_all_below: set[str] = set()
    below_all: set[str] = set()
    has_plain = False
    for index, text in enumerate(resources):
        if not text:
            yield required(f"{path}[{index}]")
            continue
        resource, slash, below = text.partition("/")
        if not slash:
            has_plain = text != "*"
            continue
        if resource in with_all_below:
            problem = f"if '{resource}/*' is present, must not specify {text}"
            yield invalid(f"{path}[{index}]", text, problem)
        if below in below_all:
            problem = f"if '*/{below}' is present, must not specify {text}"
            yield invalid(f"{path}[{index}]", text, problem)
        if below == "*":
            with_all_below.add(resource)
        if resource == "*":
            below_all.add(below)
    shown = validators.format_go_strings(resources)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, shown, "if '*/*' is present, must not specify other resources")
    if "*" in resources and has_plain:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, shown, text)


def validate_match_resources(value: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Check `matchConstraints` of a policy or `matchResources` of a binding."""
    policy = value.get("matchPolicy")
    if policy is None:
        yield required(f"{path}.matchPolicy")
    else:
        yield from validators.validate_enum(f"{path}.matchPolicy", policy, MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        if value.get(name) is None:
            yield required(f"{path}.{name}")
        else:
            yield from validators.validate_label_selector(f"{path}.{name}", value[name])
    for name in ("resourceRules", "excludeResourceRules"):
        yield from validate_rules(value.get(name) or (), f"{path}.{name}")


def validate_conditions(
    conditions: Sequence[Object], path: str, *, stored: Container[str], has_params: bool = False
) -> Iterator[FieldError]:
    """Check `matchConditions`: names and expressions; those in `stored` are not new."""
    if not conditions:
        return
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    from quarterdeck import cel

    environment = build_environment(has_params=has_params, stored=stored)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        place, name = f"{path}[{index}]", condition.get("name") or ""
        text = (condition.get("expression") or "").strip()
        if not text:
            yield required(f"{place}.expression")
        elif error := find_expression_error(f"{place}.expression", environment, text, (cel.BOOL,)):
            yield error
        if not name:
            yield required(f"{place}.name")
            continue
        for problem in names.check_qualified_name(name):
            yield invalid(f"{place}.name", name, problem)
        if name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


def default_match_resources(value: Object) -> None:
    """Fill in what a match leaves out, in place."""
    value.setdefault("matchPolicy", "Equivalent")
    value.setdefault("namespaceSelector", {})
    value.setdefault("objectSelector", {})
    default_scopes(get_items(value, "resourceRules"))
    default_scopes(get_items(value, "excludeResourceRules"))


def default_scopes(rules: Sequence[Object]) -> None:
    """Set the scope `*` of rules without a scope, in place."""
    for rule in rules:
        if rule.get("scope") is None:
            rule["scope"] = "*"


def format_go_list(kind: str, texts: Sequence[str]) -> Bare:
    """Format a list of strings of a named type as Go prints it."""
    return Bare(f"[]{kind}{{" + ", ".join(quote(text) for text in texts) + "}")
