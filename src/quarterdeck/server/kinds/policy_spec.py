"""Validation of the fields that validating and mutating admission policies share."""

import re
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, internal, invalid, required
from quarterdeck.server.kinds import match_rules, validators
from quarterdeck.server.kinds.admission_expressions import (
    InvalidExpression,
    build_environment,
    compile_expression,
)
from quarterdeck.server.registry.resource import Object

if TYPE_CHECKING:
    from quarterdeck import cel


_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")


def validate_head(spec: Object) -> Iterator[FieldError]:
    """Check `failurePolicy`, `paramKind` and `matchConstraints`."""
    policy = spec.get("failurePolicy")
    yield from validators.validate_enum("spec.failurePolicy", policy, match_rules.FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        yield from _validate_param_kind(spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        yield required("spec.matchConstraints")
        return
    yield from match_rules.validate_match_resources(match, "spec.matchConstraints")
    if not match.get("resourceRules"):
        yield required("spec.matchConstraints.resourceRules")


def validate_conditions(spec: Object, stored: Container[str]) -> Iterator[FieldError]:
    """Check the match conditions of a policy."""
    yield from match_rules.validate_conditions(
        spec.get("matchConditions") or (),
        "spec.matchConditions",
        has_params=spec.get("paramKind") is not None,
        stored=stored,
    )


def validate_variables(
    spec: Object, known: "dict[str, cel.Type] | None", *, stored: Container[str]
) -> Iterator[FieldError]:
    """Check the variables of a policy, each by those before it, and add their types to `known`."""
    if known is None:
        return
    has_params = spec.get("paramKind") is not None
    for index, variable in enumerate(spec.get("variables") or ()):
        environment = build_environment(has_params=has_params, variables=known, stored=stored)
        path = f"spec.variables[{index}]"
        yield from _validate_variable(variable, path, environment, known=known)


def _validate_param_kind(kind: Object, path: str) -> Iterator[FieldError]:
    """Check the kind of a policy's parameters."""
    api_version = kind.get("apiVersion") or ""
    if not api_version:
        yield required(f"{path}.apiVersion")
    elif api_version.count("/") > 1:
        text = f"unexpected GroupVersion string: {api_version}"
        yield invalid(f"{path}.apiVersion", api_version, text)
    else:
        group, _, version = api_version.rpartition("/")
        if group and (problems := names.check_dns1123_subdomain(group)):
            yield invalid(f"{path}.apiVersion", group, ",".join(problems))
        if not version:
            yield invalid(f"{path}.apiVersion", api_version, "version must be specified")
        elif problems := names.check_dns1035_label(version):
            yield invalid(f"{path}.apiVersion", version, ",".join(problems))
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{path}.kind")
    elif problems := names.check_dns1035_label(name.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", name, text)


def _validate_variable(
    variable: Object,
    path: str,
    environment: "cel.Environment",
    *,
    known: "dict[str, cel.Type]",
) -> Iterator[FieldError]:
    """Check a variable, and add its type to those that are known."""
    from quarterdeck import cel

    name, text = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name):
        yield invalid(f"{path}.name", name, "name is not a valid CEL identifier")
    if not text.strip():
        yield required(f"{path}.expression", "expression is not specified")
        return
    known[name] = cel.DYN
    try:
        known[name] = compile_expression(environment, text).type
    except InvalidExpression as error:
        yield invalid(f"{path}.expression", text, str(error))
    except RecursionError:
        yield internal(f"{path}.expression", "the expression is nested too deeply")
