"""The rules of ValidatingAdmissionPolicies and their bindings."""

import functools
import re
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from quarterdeck.server.kinds import match_rules, policy_spec, validators
from quarterdeck.server.kinds.admission_expressions import (
    build_environment,
    collect_expressions,
    find_expression_error,
)
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

if TYPE_CHECKING:
    from quarterdeck import cel

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS = 20
_LONGEST_VALUE_EXPRESSION = 5 * 1024
_EMPTY = "validations or auditAnnotations must contain at least one item"


def default_policy(value: Object) -> None:
    """Fill in what a policy leaves out, in place."""
    spec = value.setdefault("spec", {})
    set_defaults(spec, failurePolicy="Fail")
    if (match := spec.get("matchConstraints")) is not None:
        match_rules.default_match_resources(match)


def _validate_new(value: Object, context: Context) -> Iterator[FieldError]:
    return _validate_policy(value, frozenset())


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    return _validate_policy(value, collect_expressions(old))


def _validate_policy(value: Object, stored: Container[str]) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from policy_spec.validate_head(spec)
    yield from policy_spec.validate_conditions(spec, stored)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield required("spec.validations", _EMPTY)
        yield required("spec.auditAnnotations", _EMPTY)
        return
    yield from _validate_expressions(value["metadata"].get("name") or "", spec, stored=stored)


def _validate_expressions(
    name: str, spec: Object, *, stored: Container[str]
) -> Iterator[FieldError]:
    has_params = spec.get("paramKind") is not None
    variables: dict[str, cel.Type] | None = {} if spec.get("variables") else None
    yield from policy_spec.validate_variables(spec, variables, stored=stored)
    environment = build_environment(has_params=has_params, variables=variables, stored=stored)
    messages = build_environment(
        has_params=has_params, has_authorizer=False, variables=variables, stored=stored
    )
    for index, validation in enumerate(spec.get("validations") or ()):
        yield from _validate_validation(
            validation, f"spec.validations[{index}]", environment, messages=messages
        )
    yield from _validate_annotations(name, spec.get("auditAnnotations") or [], environment)


def _validate_validation(
    validation: Object, path: str, environment: "cel.Environment", *, messages: "cel.Environment"
) -> Iterator[FieldError]:
    from quarterdeck import cel

    text = validation.get("expression") or ""
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
    elif error := find_expression_error(f"{path}.expression", environment, text, (cel.BOOL,)):
        yield error
    text = validation.get("messageExpression") or ""
    if text and not text.strip():
        yield invalid(f"{path}.messageExpression", text, "must be non-empty if specified")
    elif text and (
        error := find_expression_error(f"{path}.messageExpression", messages, text, (cel.STRING,))
    ):
        yield error
    message = validation.get("message") or ""
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        yield invalid(f"{path}.message", message, "message must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _validate_annotations(
    name: str, annotations: Sequence[Object], environment: "cel.Environment"
) -> Iterator[FieldError]:
    from quarterdeck import cel
    from quarterdeck.cel.types import NULL

    path, seen = "spec.auditAnnotations", set()
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid(path, list(annotations), text)
    for index, annotation in enumerate(annotations):
        key, text = annotation.get("key") or "", annotation.get("valueExpression") or ""
        for problem in names.check_qualified_name(f"{name}/{key}"):
            yield invalid(f"{path}[{index}].key", f"{name}/{key}", problem)
        place = f"{path}[{index}].valueExpression"
        if not text.strip():
            yield required(place, "valueExpression is not specified")
        elif len(text.strip()) > _LONGEST_VALUE_EXPRESSION:
            limit = _LONGEST_VALUE_EXPRESSION
            yield required(place, f"must not exceed {limit} bytes in length")
        elif error := find_expression_error(place, environment, text, (cel.STRING, NULL)):
            yield error
        if key in seen:
            yield duplicate(f"{path}[{index}].key", key)
        seen.add(key)


def build_policy_cells(member: str, value: Object, now: datetime) -> Sequence[object]:
    """The cells of a policy; `member` of its spec is what is counted."""
    kind = get_mapping(value, "spec", "paramKind")
    shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"
    count = len(get_items(value, "spec", member))
    return (value["metadata"].get("name", ""), count, shown, format_creation_age(value, now))


POLICY = Rules(
    default=default_policy,
    validate_new=_validate_new,
    validate_change=_validate_change,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("Validations", "integer"), build_column("ParamKind"), AGE),
    cells=functools.partial(build_policy_cells, "validations"),
)


def default_binding(value: Object) -> None:
    """Fill in what a binding leaves out, in place."""
    match = get_field(value, "spec", "matchResources")
    if match is not None:
        match_rules.default_match_resources(match)


def _validate_binding(value: Object, context: Context) -> Iterator[FieldError]:
    yield from validate_binding_references(value)
    actions = get_mapping(value, "spec").get("validationActions") or []
    yield from _validate_actions(actions, "spec.validationActions")


def validate_binding_references(value: Object) -> Iterator[FieldError]:
    """Check which policy a binding names, its parameters, and the resources that it is for."""
    spec = get_mapping(value, "spec")
    policy = spec.get("policyName") or ""
    if not policy:
        yield required("spec.policyName")
    for problem in names.check_dns1123_subdomain(policy) if policy else ():
        yield invalid("spec.policyName", policy, problem)
    if (reference := spec.get("paramRef")) is not None:
        yield from validate_reference(reference, "spec.paramRef")
    if (match := spec.get("matchResources")) is not None:
        yield from match_rules.validate_match_resources(match, "spec.matchResources")


def validate_reference(reference: Object, path: str) -> Iterator[FieldError]:
    """Check which objects a binding hands to its policy."""
    name, selector = reference.get("name") or "", reference.get("selector")
    for problem in names.check_path_segment(name) if name else ():
        yield invalid(f"{path}.name", name, problem)
    if name and selector is not None:
        yield forbidden(f"{path}.name", "name and selector are mutually exclusive")
    yield from validators.validate_label_selector(f"{path}.selector", selector)
    if name and selector is not None:
        yield forbidden(f"{path}.selector", "name and selector are mutually exclusive")
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    yield from validators.validate_required_enum(
        f"{path}.parameterNotFoundAction", action, ("Deny", "Allow")
    )


def _validate_actions(actions: Sequence[str], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{index}]", action, _ACTIONS)
        if action in seen:
            yield duplicate(f"{path}[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        shown = match_rules.format_go_list("admissionregistration.ValidationAction", actions)
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure"
            " information in the API response and headers serves no purpose)"
        )
        yield invalid(path, shown, text)
    if not actions:
        yield required(path, "at least one validation action is required")


def build_binding_cells(value: Object, now: datetime) -> Sequence[object]:
    """The row of a binding in a table."""
    reference = get_mapping(value, "spec", "paramRef")
    name = reference.get("name") or ""
    shown = f"{reference.get('namespace') or '*'}/{name}" if name else "<unset>"
    policy = get_field(value, "spec", "policyName") or ""
    return (value["metadata"].get("name", ""), policy, shown, format_creation_age(value, now))


POLICY_BINDING = Rules(
    default=default_binding,
    validate=_validate_binding,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("PolicyName"), build_column("ParamRef"), AGE),
    cells=build_binding_cells,
)
