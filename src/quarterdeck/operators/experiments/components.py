"""Resolves component references to the sources of Argo CD Applications. Pure.

Order of resolution: a source given in the reference, the Component object, a built-in component,
the directory convention where the experiment allows it. Parameters: the Component's defaults are
overridden by the source's Helm parameters, and those by the reference's.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.experiments.components import (
    Component,
    ComponentParameter,
    ComponentSource,
    Helm,
)
from quarterdeck.apis.experiments.status import Layer, Origin
from quarterdeck.apis.experiments.targets import ComponentRef
from quarterdeck.meta import field
from quarterdeck.meta.field import FieldError
from quarterdeck.operators.experiments import catalog
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.substitution import (
    NotYet,
    Scope,
    SubstitutionError,
    find_references,
    substitute,
)

_INTEGER = re.compile(r"-?[0-9]+")
_VALUES = "$values/"


class Problem(NamedTuple):
    """An error of a spec, and the reason that the experiment gets from it."""

    reason: Reason
    error: FieldError

    def __str__(self) -> str:
        return str(self.error)


class Resolved(NamedTuple):
    """The resolved component of a reference."""

    name: str
    kind: str
    origin: Origin
    sources: tuple[ComponentSource, ...]
    parameters: tuple[ComponentParameter, ...] = ()
    generation: int = 0
    layer: Layer = "workload"

    @property
    def revision(self) -> str:
        """The revisions of all sources."""
        return ",".join(source.target_revision for source in self.sources)


def parse_reference(ref: ComponentRef) -> tuple[str, str]:
    """Parse a reference to a kind and a name.

    Raises:
        ValueError: if none or several kinds are set.
    """
    given = [(kind, name) for kind in KINDS if (name := getattr(ref, kind))]
    if len(given) != 1:
        found = ", ".join(kind for kind, _ in given) or "none"
        raise ValueError(f"exactly one of {', '.join(KINDS)} must be set, found {found}")
    return given[0]


KINDS = ("app", "workflow", "config")


def resolve(
    ref: ComponentRef, components: Mapping[str, Component], *, path: str, by_convention: bool
) -> Resolved | Problem:
    """Resolve a reference; returns the component, or why the reference is invalid."""
    try:
        kind, name = parse_reference(ref)
    except ValueError as error:
        return Problem(
            Reason.INVALID_SPEC, field.invalid(path, _describe_reference(ref), str(error))
        )
    if (inline := ref.source) is not None:
        source = ComponentSource(
            repo_url=inline.repo_url,
            target_revision=inline.target_revision or "HEAD",
            path=inline.path,
            chart=inline.chart,
        )
        return Resolved(name, kind, "Inline", (source,))
    component, origin = components.get(name), "Component"
    if component is None:
        component, origin = catalog.find_built_in(name), "BuiltIn"
    if component is None:
        if by_convention:
            return Resolved(
                name, kind, "Convention", (catalog.build_source_by_convention(name, kind),)
            )
        detail = _describe_missing(name, kind, components)
        return Problem(Reason.COMPONENT_NOT_FOUND, field.invalid(f"{path}.{kind}", name, detail))
    if component.spec.type != kind:
        detail = (
            f"Component {name} is of type {component.spec.type}; refer to it with the field "
            f"{component.spec.type}"
        )
        return Problem(Reason.COMPONENT_NOT_FOUND, field.invalid(f"{path}.{kind}", name, detail))
    return Resolved(
        name,
        kind,
        "Component" if origin == "Component" else "BuiltIn",
        component.spec.sources,
        component.spec.parameters,
        component.metadata.generation,
    )


def check_sources(sources: Sequence[ComponentSource], *, path: str) -> Iterator[FieldError]:
    """Find errors in the sources of a component."""
    has_values = _uses_values(sources)
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        given = [name for name in ("path", "chart", "ref") if getattr(source, name)]
        if len(given) > 1:
            yield field.forbidden(where, f"{' and '.join(given)} exclude each other; keep one")
        if not given and not (has_values and source.helm is None):
            yield field.required(where, "one of path, chart and ref must be set")
        if source.chart and source.target_revision in ("", "HEAD"):
            yield field.required(f"{where}.targetRevision", "the version of a chart must be set")
        if source.ref and source.helm is not None:
            yield field.forbidden(f"{where}.helm", "a source with a ref is not rendered")


def check_params(resolved: Resolved, params: Mapping[str, str], *, path: str) -> Iterator[Problem]:
    """Find missing, unknown and wrongly typed parameters of one reference."""
    declared = {parameter.name: parameter for parameter in resolved.parameters}
    takes_any = any(is_helm(source) for source in resolved.sources)
    for name, parameter in declared.items():
        value = params.get(name, parameter.default)
        if parameter.required and not value:
            detail = f"parameter {name} of component {resolved.name} must be set"
            yield _build_parameter_problem(field.required(f"{path}.{name}", detail))
        elif value and (problem := _find_type_problem(parameter, value)):
            yield _build_parameter_problem(field.type_invalid(f"{path}.{name}", value, problem))
    for name in params:
        if name not in declared and not takes_any:
            known = ", ".join(sorted(declared)) or "none"
            detail = (
                f"component {resolved.name} has no such parameter and no Helm chart that could "
                f"take it; parameters: {known}"
            )
            yield _build_parameter_problem(field.forbidden(f"{path}.{name}", detail))


def merge_params(
    resolved: Resolved, params: Mapping[str, str], scope: Scope
) -> tuple[dict[str, str], Scope]:
    """Replace references in the given parameters; also returns the scope for the sources."""
    given = {name: substitute(value, scope) for name, value in params.items()}
    defaults = {parameter.name: parameter.default for parameter in resolved.parameters}
    return given, scope._replace(params={**defaults, **given})


def build_sources(
    resolved: Resolved, params: Mapping[str, str], scope: Scope
) -> list[dict[str, Any]]:
    """Build the `sources` of an Application. Raises `SubstitutionError`."""
    given, inner = merge_params(resolved, params, scope)
    has_values = _uses_values(resolved.sources)
    used = set(_list_used_names(resolved.sources))
    found = []
    for source in resolved.sources:
        built: dict[str, Any] = {
            "repoURL": substitute(source.repo_url, inner),
            "targetRevision": substitute(source.target_revision, inner) or "HEAD",
        }
        if source.chart:
            built["chart"] = substitute(source.chart, inner)
        elif source.ref or (has_values and source.helm is None):
            built["ref"] = source.ref or "values"
        else:
            built["path"] = substitute(source.path, inner)
        if is_helm(source) and (helm := _build_helm(resolved, source, given, inner, used)):
            built["helm"] = helm
        found.append(built)
    return found


def is_helm(source: ComponentSource) -> bool:
    """Whether Argo CD renders a source with Helm; a Helm block elsewhere would break it."""
    return bool(source.chart) or source.helm is not None


def check_texts(
    resolved: Resolved, params: Mapping[str, str], scope: Scope, *, path: str
) -> Iterator[Problem]:
    """Find references in parameters and sources that can never be replaced."""
    values: dict[str, str] = {}
    for name, value in params.items():
        try:
            values[name] = substitute(value, scope)
        except SubstitutionError as error:
            if not isinstance(error, NotYet):
                yield _build_parameter_problem(field.invalid(f"{path}.{name}", value, str(error)))
            values[name] = "late"
    defaults = {parameter.name: parameter.default for parameter in resolved.parameters}
    inner = scope._replace(params={**defaults, **values})
    for text in _list_texts(resolved.sources):
        try:
            substitute(text, inner)
        except SubstitutionError as error:
            if not isinstance(error, NotYet):
                detail = f"component {resolved.name}: {error}"
                yield _build_parameter_problem(field.invalid(path, text, detail))


def _build_helm(
    resolved: Resolved,
    source: ComponentSource,
    given: Mapping[str, str],
    scope: Scope,
    used: set[str],
) -> dict[str, Any]:
    helm = source.helm or Helm()
    forced = {parameter.name for parameter in helm.parameters if parameter.force_string}
    values = {p.name: p.default for p in resolved.parameters if p.default and p.name not in used}
    values |= {each.name: substitute(each.value, scope) for each in helm.parameters}
    values |= {name: value for name, value in given.items() if name not in used}
    built: dict[str, Any] = {}
    if helm.release_name:
        built["releaseName"] = substitute(helm.release_name, scope)
    if helm.values_files:
        built["valueFiles"] = [substitute(each, scope) for each in helm.values_files]
    if values:
        built["parameters"] = [
            {
                "name": name,
                "value": values[name],
                **({"forceString": True} if name in forced else {}),
            }
            for name in sorted(values)
        ]
    if helm.values:
        built["values"] = substitute(helm.values, scope)
    return built


def _list_texts(sources: Sequence[ComponentSource]) -> Iterator[str]:
    """Every text of the sources in which references are replaced."""
    for source in sources:
        yield from (source.repo_url, source.target_revision, source.path, source.chart)
        if (helm := source.helm) is not None:
            yield from (helm.release_name, *helm.values_files, helm.values)
            yield from (parameter.value for parameter in helm.parameters)


def _list_used_names(sources: Sequence[ComponentSource]) -> Iterator[str]:
    for text in _list_texts(sources):
        for reference in find_references(text):
            yield reference.name.removeprefix("params.")


def _uses_values(sources: Sequence[ComponentSource]) -> bool:
    return any(
        name.startswith(_VALUES)
        for source in sources
        if source.helm is not None
        for name in source.helm.values_files
    )


def _find_type_problem(parameter: ComponentParameter, value: str) -> str:
    if "${" in value:
        return ""
    if parameter.type == "int" and not _INTEGER.fullmatch(value):
        return f"parameter {parameter.name} must be an integer, such as 5"
    if parameter.type == "bool" and value not in ("true", "false"):
        return f"parameter {parameter.name} must be true or false"
    return ""


def _describe_missing(name: str, kind: str, components: Mapping[str, Component]) -> str:
    names = [each.metadata.name for each in components.values() if each.spec.type == kind]
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; similar names: {', '.join(near)}" if near else ""
    return f"Component {name} of type {kind} not found{hint}; create it, or correct the name"


def _build_parameter_problem(error: FieldError) -> Problem:
    return Problem(Reason.PARAMETER_INVALID, error)


def _describe_reference(ref: ComponentRef) -> str:
    return "/".join(filter(None, (ref.app, ref.workflow, ref.config)))
