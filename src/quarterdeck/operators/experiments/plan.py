"""Plans the objects of an experiment from its spec and its status. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.status import ResolvedComponent, TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments import graph, naming, observability
from quarterdeck.operators.experiments.argocd import IN_CLUSTER
from quarterdeck.operators.experiments.components import Problem
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.substitution import Scope, substitute
from quarterdeck.operators.experiments.validation import (
    Checked,
    build_static_scope,
    list_edges,
    list_outputs,
)

_USER = 65532


def with_labels(document: Mapping[str, Any], experiment: Experiment, target: str) -> dict[str, Any]:
    """Add the labels that name the experiment and the target to a cluster request."""
    metadata = document["metadata"]
    own = {
        **metadata.get("labels", {}),
        **naming.build_labels(experiment, target=target),
        naming.LABEL_CLUSTER: metadata["name"],
    }
    return {**document, "metadata": {**metadata, "labels": own}}


def record_components(
    experiment: Experiment,
    target: Target,
    checked: Checked,
    components: Mapping[str, Component],
    settings: Settings,
) -> tuple[tuple[ResolvedComponent, ...], list[Problem]]:
    """Build the status entries of a target's components, injected ones first; also errors."""
    extra, problems = observability.resolve_injected(experiment, target, components, settings)
    own = zip(checked.resolved[target.name], (ref.params for ref in target.components), strict=True)
    return (
        tuple(
            ResolvedComponent(
                name=each.name,
                kind=each.kind,
                origin=each.origin,
                generation=each.generation,
                revision=each.revision,
                layer=each.layer,
                sources=each.sources,
                parameters=each.parameters,
                params=params,
            )
            for each, params in (*extra, *own)
        ),
        problems,
    )


def build_scope(
    experiment: Experiment, target: Target | None, statuses: Mapping[str, TargetStatus]
) -> Scope:
    """Build the current values of references; those of targets that are not ready are pending."""
    static = build_static_scope(experiment, target)
    values = {
        name: {**list_outputs(experiment, name), **_build_values(statuses[name])}
        for name in static.targets
        if name in statuses
    }
    pending = frozenset(
        name
        for name in static.targets
        if name not in statuses
        or not statuses[name].apps_ready
        or not all(list_outputs(experiment, name).values())
    )
    own: Mapping[str, str] = {}
    if target is not None:
        own = {
            **_build_values(statuses[target.name]),
            "namespace": naming.build_base_name(experiment),
            "tenant": observability.choose_tenant(experiment, target),
        }
    return static._replace(target=own, targets=values, pending=pending)


def get_server(status: TargetStatus) -> str:
    """Return the address of a target's API server, as Argo CD and substitutions use it."""
    return IN_CLUSTER if status.cluster_name == naming.HUB else status.server


def _build_values(status: TargetStatus) -> dict[str, str]:
    return {
        "name": status.name,
        "cluster": status.cluster_name,
        "endpoint": status.endpoint,
        "server": get_server(status),
    }


def order_deletion(experiment: Experiment) -> list[list[str]]:
    """Group targets into levels for deletion, dependents first; one if the spec is invalid."""
    found = list_edges(experiment)
    if graph.check(found):
        return [[edge.name for edge in reversed(found)]]
    return [list(reversed(level)) for level in reversed(graph.group_levels(found))]


def build_post_run_job(
    experiment: Experiment, *, results_url: str, settings: Settings
) -> dict[str, Any] | None:
    """Build the Job after the run; None if the experiment has none.

    Raises:
        SubstitutionError: if a reference in spec.postRun has no value.
    """
    spec, name = experiment.spec, experiment.metadata.name
    environment = {
        "EXPERIMENT_NAME": name,
        "EXPERIMENT_NAMESPACE": experiment.metadata.namespace,
        "RESULTS_URL": results_url,
    }
    container: dict[str, Any] = {"name": "post-run"}
    account, deadline = "", 900
    statuses = {each.name: each for each in experiment.status.targets}
    scope = build_scope(experiment, None, statuses)
    if (job := spec.post_run) is not None:
        container["image"] = job.image
        if job.command:
            container["command"] = [substitute(each, scope) for each in job.command]
        if job.args:
            container["args"] = [substitute(each, scope) for each in job.args]
        environment |= {key: substitute(value, scope) for key, value in job.env.items()}
        account, deadline = job.service_account_name, job.deadline_seconds
    elif spec.publish and settings.analyzer_image and _wants_analysis(experiment):
        container["image"] = settings.analyzer_image
        sections = spec.analyzer_config.sections if spec.analyzer_config is not None else ()
        environment["ANALYZER_SECTIONS"] = ",".join(sections)
    else:
        return None
    container["env"] = [{"name": key, "value": value} for key, value in sorted(environment.items())]
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    return _build_job(experiment, container, account=account, deadline=deadline)


def _wants_analysis(experiment: Experiment) -> bool:
    """Whether analysis is wanted; an empty list of sections disables it."""
    config = experiment.spec.analyzer_config
    return config is None or bool(config.sections)


def _build_job(
    experiment: Experiment, container: Mapping[str, Any], *, account: str, deadline: int
) -> dict[str, Any]:
    labels = naming.build_labels(experiment)
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    if account:
        pod["serviceAccountName"] = account
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": naming.build_job_name(experiment),
            "namespace": experiment.metadata.namespace,
            "labels": labels,
        },
        "spec": {
            "backoffLimit": 1,
            "activeDeadlineSeconds": deadline,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def index_components(components: Sequence[Component]) -> dict[str, Component]:
    """Components by name, as `validate` takes them."""
    return {each.metadata.name: each for each in components}
