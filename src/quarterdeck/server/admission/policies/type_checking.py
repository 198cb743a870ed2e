"""Type checks of a policy's expressions against the kinds it matches. Pure.

Errors are only reported in the status of the policy; its decisions do not change.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.server.kinds.admission_expressions import build_environment
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource

if TYPE_CHECKING:
    from quarterdeck import cel

_MOST_TYPES = 10


def check_types(spec: Mapping[str, Any], registry: Registry) -> list[Object]:
    """Find the expressions that do not fit the kinds a policy matches: `expressionWarnings`."""
    resources = _find_resources(spec, registry)
    environments = [
        (resource.gvk, environment)
        for resource in resources
        if (environment := _declare(spec, resource, registry)) is not None
    ]
    warnings: list[Object] = []
    for index, validation in enumerate(spec.get("validations") or ()):
        for member in ("expression", "messageExpression"):
            text = validation.get(member)
            if text and (found := "\n".join(_check(text, environments))):
                path = f"spec.validations[{index}].{member}"
                warnings.append({"fieldRef": path, "warning": found})
    return warnings


def _check(text: str, environments: "Sequence[tuple[GVK, cel.Environment]]") -> Iterator[str]:
    from quarterdeck import cel

    for gvk, environment in environments:
        try:
            environment.compile(text, result=None)
        except cel.CompileError as error:
            yield f"{gvk.api_version}, Kind={gvk.kind}: {error}\n"


def _find_resources(spec: Mapping[str, Any], registry: Registry) -> list[Resource]:
    """Find the resources that rules without wildcards name, sorted by kind; a limited number."""
    found: dict[GVK, Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in each for each in (*groups, *versions)):
            continue
        for group in sorted(groups):
            for version in sorted(versions):
                for name in sorted(rule.get("resources") or ()):
                    resource = registry.get(GVR(group, version, name))
                    if resource is not None and len(found) < _MOST_TYPES:
                        found[resource.gvk] = resource
    return [found[gvk] for gvk in sorted(found, key=lambda gvk: (gvk.group, gvk.version, gvk.kind))]


def _declare(
    spec: Mapping[str, Any], resource: Resource, registry: Registry
) -> "cel.Environment | None":
    objects = _declare_type(resource)
    if objects is None:
        return None
    kind = spec.get("paramKind")
    params: cel.Type | None = None
    if kind is not None:
        group, _, version = str(kind.get("apiVersion")).rpartition("/")
        found = registry.find_by_kind(GVK(group, version, str(kind.get("kind"))))
        params = None if found is None else _declare_type(found)
    variables = _declare_variables(spec, objects, params)
    return build_environment(
        has_params=kind is not None, variables=variables, objects=objects, params=params
    )


def _declare_variables(
    spec: Mapping[str, Any], objects: "cel.Type", params: "cel.Type | None"
) -> "dict[str, cel.Type]":
    from quarterdeck import cel

    known: dict[str, cel.Type] = {}
    for variable in spec.get("variables") or ():
        environment = build_environment(
            has_params=spec.get("paramKind") is not None,
            variables=known,
            objects=objects,
            params=params,
        )
        try:
            found = environment.compile(variable["expression"], result=None).type
        except cel.CompileError:
            found = cel.DYN
        known = {**known, variable["name"]: found}
    return known


def _declare_type(resource: Resource) -> "cel.Type | None":
    """Declare the CEL type of a kind; None for a recursive schema, such as JSONSchemaProps."""
    from quarterdeck.cel.schema.declaration import declare_type

    try:
        return declare_type(resource.node, root=True, name=resource.kind)
    except RecursionError:
        return None
