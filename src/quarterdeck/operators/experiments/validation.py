"""Validates an experiment before anything is created. Pure.

All errors are reported at once, each with the path of its field. What the CRD's rules check too is
checked again: an object may be older than its CRD.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.targets import LABEL_PATTERN, MAX_TARGET_NAME, Target
from quarterdeck.apis.experiments.v1alpha1 import MAX_NAME, Experiment
from quarterdeck.meta import field, names
from quarterdeck.operators.experiments import graph
from quarterdeck.operators.experiments.completion import find_condition_error
from quarterdeck.operators.experiments.components import (
    Problem,
    Resolved,
    check_params,
    check_sources,
    check_texts,
    resolve,
)
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.graph import Edge
from quarterdeck.operators.experiments.substitution import (
    NotYet,
    Scope,
    SubstitutionError,
    substitute,
)

_PARAMETER = re.compile(r"[-a-zA-Z0-9_]+")
_ORDER = (
    Reason.DEPENDENCY_CYCLE,
    Reason.DEPENDENCY_UNKNOWN,
    Reason.NAME_TOO_LONG,
    Reason.INVALID_SPEC,
    Reason.PARAMETER_INVALID,
    Reason.COMPONENT_NOT_FOUND,
)
"""Order of precedence if there are several reasons; last those that may resolve themselves."""


class Checked(NamedTuple):
    """The outcome of a validation."""

    problems: tuple[Problem, ...]
    resolved: Mapping[str, tuple[Resolved, ...]]
    """The components of each target, in the order of the spec."""
    warnings: tuple[str, ...] = ()

    @property
    def reason(self) -> Reason | None:
        """The reason that the experiment gets; None without errors."""
        found = {problem.reason for problem in self.problems}
        return next((reason for reason in _ORDER if reason in found), None)

    @property
    def message(self) -> str:
        """All errors in one text."""
        return "; ".join(map(str, self.problems))

    @property
    def can_wait(self) -> bool:
        """Whether all errors are missing Components, which may be applied a moment later."""
        return bool(self.problems) and all(
            problem.reason is Reason.COMPONENT_NOT_FOUND for problem in self.problems
        )


def validate(experiment: Experiment, components: Mapping[str, Component]) -> Checked:
    """Validate an experiment with the existing Components."""
    spec = experiment.spec
    problems = [*_check_name(experiment), *_check_graph(spec.targets)]
    resolved: dict[str, tuple[Resolved, ...]] = {}
    for index, target in enumerate(spec.targets):
        path = f"spec.targets[{index}]"
        problems += _check_target(target, path)
        found, wrong = _resolve_target(experiment, target, components, path)
        resolved[target.name] = found
        problems += wrong
    problems += _check_workflow(experiment)
    problems += _check_post_run(experiment)
    problems += _check_metrics(experiment)
    problems += _check_tutorial(experiment)
    return Checked(tuple(problems), resolved, tuple(find_warnings(experiment)))


def find_warnings(experiment: Experiment) -> Iterator[str]:
    """Find fields that are accepted but have no effect."""
    spec = experiment.spec
    if spec.code_snippets:
        yield "spec.codeSnippets is kept for reports and not read by the operator"
    if (spec.publish or spec.analyzer_config is not None) and spec.post_run is None:
        yield (
            "spec.publish and spec.analyzerConfig take effect through the Job of spec.postRun, "
            "or of the operator's analyzer image if one is configured"
        )
    for index, target in enumerate(spec.targets):
        observability = target.observability
        if observability is None or not observability.enabled:
            continue
        if target.cluster.type == "hub" and observability.transport == "tailscale":
            yield (
                f"spec.targets[{index}].observability.transport: tailscale is not needed on the "
                "hub, which reaches its metrics store directly"
            )


def list_edges(experiment: Experiment) -> list[Edge]:
    """The dependencies of the targets."""
    return [Edge(target.name, target.depends) for target in experiment.spec.targets]


def _check_name(experiment: Experiment) -> Iterator[Problem]:
    name = experiment.metadata.name
    if len(name) > MAX_NAME:
        yield Problem(Reason.NAME_TOO_LONG, field.too_long("metadata.name", name, MAX_NAME))
    for problem in names.check_dns1123_label(name):
        if len(name) <= MAX_NAME:
            yield _build_invalid("metadata.name", name, problem)


def _check_graph(targets: Sequence[Target]) -> Iterator[Problem]:
    index_of = {target.name: index for index, target in reversed([*enumerate(targets)])}
    for error in graph.check([Edge(target.name, target.depends) for target in targets]):
        path = f"spec.targets[{index_of[error.target]}].depends"
        if error.entry is not None:
            path += f"[{error.entry}]"
        yield Problem(error.reason, field.invalid(path, error.value, error.message))


def _check_target(target: Target, path: str) -> Iterator[Problem]:
    if len(target.name) > MAX_TARGET_NAME:
        error = field.too_long(f"{path}.name", target.name, MAX_TARGET_NAME)
        yield Problem(Reason.NAME_TOO_LONG, error)
    elif not re.fullmatch(LABEL_PATTERN, target.name):
        yield _build_invalid(f"{path}.name", target.name, "must be a DNS label in lower case")
    cluster = target.cluster
    if cluster.type == "existing" and cluster.kubeconfig_secret_ref is None:
        detail = "must be set for a cluster of type existing"
        where = f"{path}.cluster.kubeconfigSecretRef"
        yield Problem(Reason.INVALID_SPEC, field.required(where, detail))


def _resolve_target(
    experiment: Experiment, target: Target, components: Mapping[str, Component], path: str
) -> tuple[tuple[Resolved, ...], list[Problem]]:
    found: list[Resolved] = []
    problems: list[Problem] = []
    scope = build_static_scope(experiment, target)
    for index, ref in enumerate(target.components):
        where = f"{path}.components[{index}]"
        by_convention = experiment.spec.resolution.fallback == "Convention"
        one = resolve(ref, components, path=where, by_convention=by_convention)
        if isinstance(one, Problem):
            problems.append(one)
            continue
        if any(each.name == one.name for each in found):
            detail = f"component {one.name} is listed twice"
            problems.append(_build_invalid(where, one.name, detail))
            continue
        found.append(one)
        problems += (
            Problem(Reason.INVALID_SPEC, error)
            for error in check_sources(one.sources, path=f"Component/{one.name}.spec.sources")
        )
        problems += check_params(one, ref.params, path=f"{where}.params")
        problems += check_texts(one, ref.params, scope, path=f"{where}.params")
    return tuple(found), problems


def build_static_scope(experiment: Experiment, target: Target | None) -> Scope:
    """Build the names that references may use; values of other targets are still pending."""
    if target is None:
        reachable = frozenset(each.name for each in experiment.spec.targets)
        own: dict[str, str] = {}
    else:
        reachable = graph.find_ancestors(list_edges(experiment)).get(target.name, frozenset())
        own = {"name": target.name}
    return Scope(
        experiment={
            "name": experiment.metadata.name,
            "namespace": experiment.metadata.namespace,
            "uid": experiment.metadata.uid,
        },
        target=own,
        targets={name: {"name": name, **list_outputs(experiment, name)} for name in reachable},
        pending=reachable,
    )


def list_outputs(experiment: Experiment, target: str) -> dict[str, str]:
    """List addresses of a target's Services that other targets may refer to; empty until known."""
    tutorial, status = experiment.spec.tutorial, experiment.status.tutorial_status
    known = {each.name: each.endpoint for each in status.services} if status is not None else {}
    services = tutorial.services if tutorial is not None else ()
    return {
        f"outputs.{each.name}": known.get(each.name, "")
        for each in services
        if each.target == target
    }


def _check_workflow(experiment: Experiment) -> Iterator[Problem]:
    yield from _check_completion(experiment)
    scope = build_static_scope(experiment, None)
    for name, value in experiment.spec.workflow.params.items():
        path = f"spec.workflow.params.{name}"
        if not _PARAMETER.fullmatch(name):
            detail = "a workflow's parameter may contain letters, digits, '-' and '_'"
            yield Problem(Reason.PARAMETER_INVALID, field.invalid(path, name, detail))
        yield from _check_references(path, value, scope)


def _check_post_run(experiment: Experiment) -> Iterator[Problem]:
    """Check references of the Job after the run, which could not be built when the run is over."""
    if (job := experiment.spec.post_run) is None:
        return
    scope = build_static_scope(experiment, None)
    for name, values in (("command", job.command), ("args", job.args)):
        for index, value in enumerate(values):
            yield from _check_references(f"spec.postRun.{name}[{index}]", value, scope)
    for name, value in job.env.items():
        yield from _check_references(f"spec.postRun.env.{name}", value, scope)


def _check_references(path: str, value: str, scope: Scope) -> Iterator[Problem]:
    try:
        substitute(value, scope)
    except NotYet:
        return
    except SubstitutionError as error:
        yield Problem(Reason.PARAMETER_INVALID, field.invalid(path, value, str(error)))


def _check_completion(experiment: Experiment) -> Iterator[Problem]:
    completion = experiment.spec.workflow.completion
    path = "spec.workflow.completion"
    if completion.mode == "condition":
        if error := find_condition_error(completion.condition):
            yield _build_invalid(f"{path}.condition", completion.condition, error)
    elif completion.mode == "duration" and not completion.duration:
        detail = "must be set for mode duration"
        yield Problem(Reason.INVALID_SPEC, field.required(f"{path}.duration", detail))


def _check_metrics(experiment: Experiment) -> Iterator[Problem]:
    spec = experiment.spec
    seen: set[str] = set()
    for index, metric in enumerate(spec.metrics):
        if metric.name in seen:
            error = field.duplicate(f"spec.metrics[{index}].name", metric.name)
            yield Problem(Reason.INVALID_SPEC, error)
        seen.add(metric.name)
    if spec.hypothesis is None or not spec.metrics:
        return
    for index, criterion in enumerate(spec.hypothesis.success_criteria):
        if criterion.metric not in seen:
            path = f"spec.hypothesis.successCriteria[{index}].metric"
            known = ", ".join(sorted(seen))
            yield _build_invalid(path, criterion.metric, f"metric not found; metrics: {known}")


def _check_tutorial(experiment: Experiment) -> Iterator[Problem]:
    tutorial = experiment.spec.tutorial
    known = {target.name for target in experiment.spec.targets}
    for index, service in enumerate(tutorial.services if tutorial is not None else ()):
        if service.target not in known:
            path = f"spec.tutorial.services[{index}].target"
            yield _build_invalid(path, service.target, f"targets: {', '.join(sorted(known))}")


def _build_invalid(path: str, value: str, detail: str) -> Problem:
    return Problem(Reason.INVALID_SPEC, field.invalid(path, value, detail))
