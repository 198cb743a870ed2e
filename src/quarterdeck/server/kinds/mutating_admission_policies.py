"""The rules of MutatingAdmissionPolicies and their bindings."""

import functools
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from quarterdeck.meta.field import FieldError, invalid, not_supported, required
from quarterdeck.server.kinds import policy_spec, validating_admission_policies, validators
from quarterdeck.server.kinds.admission_expressions import (
    JSON_PATCH,
    OBJECT,
    build_environment,
    collect_expressions,
    find_expression_error,
    find_patch_type,
)
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column
from quarterdeck.server.registry.resource import Context, Object

if TYPE_CHECKING:
    from quarterdeck import cel

APPLY = "ApplyConfiguration"
_MEMBERS = {APPLY: "applyConfiguration", JSON_PATCH: "jsonPatch"}
"""Types of patches, with the member that holds the expression of each."""
_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
"""What is deleted cannot be changed."""
_REINVOCATIONS = ("IfNeeded", "Never")


def get_patch_result(patch_type: str) -> "cel.Type":
    """The type that the expression of a patch must have."""
    from quarterdeck import cel

    found = find_patch_type(OBJECT if patch_type == APPLY else JSON_PATCH)
    assert found is not None  # both are known
    return found if patch_type == APPLY else cel.list_of(found)


def get_patch_expression(mutation: Object) -> str:
    """The expression of a mutation, of whichever type it is."""
    member = _MEMBERS.get(mutation.get("patchType") or "", "")
    return str(get_field(mutation, member, "expression") or "")


def _validate_new(value: Object, context: Context) -> Iterator[FieldError]:
    return _validate_policy(value, frozenset())


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    return _validate_policy(value, collect_expressions(old))


def _validate_policy(value: Object, stored: Container[str]) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from policy_spec.validate_head(spec)
    yield from _validate_operations(get_mapping(spec, "matchConstraints"), "spec.matchConstraints")
    yield from policy_spec.validate_conditions(spec, stored)
    yield from _validate_expressions(spec, stored)
    yield from validators.validate_required_enum(
        "spec.reinvocationPolicy", spec.get("reinvocationPolicy") or None, _REINVOCATIONS
    )


def _validate_operations(match: Object, path: str) -> Iterator[FieldError]:
    for rule in get_items(match, "resourceRules"):
        for operation in rule.get("operations") or ():
            if operation not in _OPERATIONS:
                yield not_supported(f"{path}.resourceRules.operations", operation, _OPERATIONS)


def _validate_expressions(spec: Object, stored: Container[str]) -> Iterator[FieldError]:
    has_params = spec.get("paramKind") is not None
    variables: dict[str, cel.Type] | None = {} if spec.get("variables") else None
    yield from policy_spec.validate_variables(spec, variables, stored=stored)
    mutations = spec.get("mutations") or []
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
        return
    environment = build_environment(
        has_params=has_params, has_patch_types=True, variables=variables, stored=stored
    )
    for index, mutation in enumerate(mutations):
        yield from _validate_mutation(mutation, f"spec.mutations[{index}]", environment)


def _validate_mutation(
    mutation: Object, path: str, environment: "cel.Environment"
) -> Iterator[FieldError]:
    patch_type = mutation.get("patchType") or ""
    if not patch_type:
        yield required(f"{path}.patchType")
        return
    if patch_type not in _MEMBERS:
        yield not_supported(f"{path}.patchType", patch_type, tuple(_MEMBERS))
        return
    for each, member in _MEMBERS.items():
        place, given = f"{path}.{member}", mutation.get(member)
        if each == patch_type and given is None:
            yield required(place, f"must be specified when patchType is {patch_type}")
        elif each == patch_type:
            yield from _validate_expression(mutation, f"{place}.expression", environment)
        elif given is not None:
            text = f"must not be specified when patchType is {patch_type}"
            yield invalid(place, f"{{{member}}}", text)


def _validate_expression(
    mutation: Object, path: str, environment: "cel.Environment"
) -> Iterator[FieldError]:
    text = get_patch_expression(mutation).strip()
    result = get_patch_result(mutation["patchType"])
    if not text:
        yield required(path)
    elif error := find_expression_error(path, environment, text, (result,)):
        yield error


POLICY = Rules(
    default=validating_admission_policies.default_policy,
    validate_new=_validate_new,
    validate_change=_validate_change,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("Mutations", "integer"), build_column("ParamKind"), AGE),
    cells=functools.partial(validating_admission_policies.build_policy_cells, "mutations"),
)


def _validate_binding(value: Object, context: Context) -> Iterator[FieldError]:
    yield from validating_admission_policies.validate_binding_references(value)
    if (match := get_mapping(value, "spec").get("matchResources")) is not None:
        yield from _validate_operations(match, "spec.matchResources")


def _default_binding(value: Object) -> None:
    validating_admission_policies.default_binding(value)
    reference = get_field(value, "spec", "paramRef")
    if reference is not None and value.get("apiVersion", "").endswith("/v1alpha1"):
        reference.setdefault("parameterNotFoundAction", "Deny")


POLICY_BINDING = Rules(
    default=_default_binding,
    validate=_validate_binding,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("PolicyName"), build_column("ParamRef"), AGE),
    cells=validating_admission_policies.build_binding_cells,
)
