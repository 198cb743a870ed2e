"""Previews what an experiment would create and cost. Pure.

Addresses of clusters are known only when the clusters are ready; in a preview they are shown as
`<address of NAME>`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.status import (
    ExperimentStatus,
    TargetStatus,
    TutorialServiceStatus,
    TutorialStatus,
)
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments import argocd, graph, limits, naming, plan, prices, workflows
from quarterdeck.operators.experiments.clusters import build_adapters
from quarterdeck.operators.experiments.components import Problem
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.validation import Checked, list_edges, validate

Document = Mapping[str, Any]


class PlannedTarget(NamedTuple):
    """A target and the objects made for it, in order."""

    target: Target
    status: TargetStatus
    cluster: Document | None
    """The request for its cluster; None if the cluster exists already."""
    applications: tuple[Document, ...]
    hourly_usd: float


class Preview(NamedTuple):
    """The planned objects of an experiment, or its errors."""

    experiment: Experiment
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    levels: tuple[tuple[PlannedTarget, ...], ...] = ()
    """Levels of targets; each level is installed after those before it."""
    workflow: Document = MappingProxyType({})

    @property
    def targets(self) -> tuple[PlannedTarget, ...]:
        """All targets, in the order of installation."""
        return tuple(target for level in self.levels for target in level)

    @property
    def documents(self) -> list[Document]:
        """Every object in the order of creation, without Secrets that hold credentials."""
        clusters = [each.cluster for each in self.targets if each.cluster is not None]
        apps = [app for each in self.targets for app in each.applications]
        return [*clusters, *apps, self.workflow]

    @property
    def hourly_usd(self) -> float:
        """What all clusters together cost per hour."""
        return sum(each.hourly_usd for each in self.targets)


def preview(
    experiment: Experiment, components: Mapping[str, Component], settings: Settings
) -> Preview:
    """Plan the objects of an experiment, or find its errors."""
    checked = validate(experiment, components)
    problems = list(checked.problems)
    statuses: dict[str, TargetStatus] = {}
    if not problems:
        for target in experiment.spec.targets:
            statuses[target.name], wrong = _predict_status(
                experiment, target, checked, components, settings
            )
            problems += wrong
    if problems:
        return Preview(experiment, tuple(problems), checked.warnings)
    experiment = _assume_addresses(experiment)
    planned = {
        target.name: _plan_target(experiment, target, statuses, settings)
        for target in experiment.spec.targets
    }
    levels = tuple(
        tuple(planned[name] for name in level)
        for level in graph.group_levels(list_edges(experiment))
    )
    scope = plan.build_scope(experiment, None, statuses)
    arguments = workflows.build_parameters(experiment, list(statuses.values()), scope)
    name = naming.build_workflow_name(experiment)
    workflow = workflows.build(experiment, name, arguments, settings)
    return Preview(experiment, (), checked.warnings, levels, workflow)


def _assume_addresses(experiment: Experiment) -> Experiment:
    """Fill in placeholder addresses for the Services of the tutorial."""
    tutorial = experiment.spec.tutorial
    services = tuple(
        TutorialServiceStatus(name=each.name, endpoint=f"<address of {each.name}>", ready=True)
        for each in (tutorial.services if tutorial is not None else ())
    )
    status = ExperimentStatus(tutorial_status=TutorialStatus(services=services))
    return msgspec.structs.replace(experiment, status=status)


def _predict_status(
    experiment: Experiment,
    target: Target,
    checked: Checked,
    components: Mapping[str, Component],
    settings: Settings,
) -> tuple[TargetStatus, list[Problem]]:
    """Build the status that a target will have when it is ready; also errors."""
    adapter = build_adapters(settings)[target.cluster.type]
    recorded, wrong = plan.record_components(experiment, target, checked, components, settings)
    shape = adapter.get_shape(target.cluster)
    is_hub = target.cluster.type == "hub"
    limit = adapter.max_name
    cluster = (
        naming.HUB if is_hub else naming.build_cluster_name(experiment, target.name, limit=limit)
    )
    return (
        TargetStatus(
            name=target.name,
            phase="Ready",
            cluster_name=cluster,
            endpoint="" if is_hub else f"<address of {cluster}>",
            server="" if is_hub else f"https://<address of {cluster}>",
            machine_type=shape.machine_type,
            node_count=shape.node_count,
            apps_ready=True,
            resolved_components=recorded,
        ),
        wrong,
    )


def _plan_target(
    experiment: Experiment,
    target: Target,
    statuses: Mapping[str, TargetStatus],
    settings: Settings,
) -> PlannedTarget:
    status = statuses[target.name]
    adapter = build_adapters(settings)[target.cluster.type]
    cluster: Document | None = None
    if adapter.kind is not None:
        request = adapter.build(experiment, target, status.cluster_name)
        cluster = plan.with_labels(request, experiment, target.name)
    scope = plan.build_scope(experiment, target, statuses)
    applications = tuple(
        argocd.build_application(
            experiment,
            target,
            app,
            server=plan.get_server(status),
            scope=scope,
            settings=settings,
        )
        for app in argocd.plan_apps(experiment, target, status)
    )
    return PlannedTarget(
        target, status, cluster, applications, prices.compute_hourly_usd(target, status)
    )


def compute_longest_hours(experiment: Experiment, settings: Settings) -> float:
    """How long the clusters may exist at most, by the experiment's time to live."""
    return limits.compute_ttl_s(experiment, settings) / 3600


def describe(found: Preview, settings: Settings) -> list[str]:
    """Format the plan as lines of text."""
    experiment = found.experiment
    lines = [f"Experiment {experiment.key}"]
    for number, level in enumerate(found.levels, start=1):
        lines.append(f"  stage {number}")
        for each in level:
            lines += [f"    {line}" for line in _describe_target(each)]
    workflow = experiment.spec.workflow
    repeats = f", {experiment.spec.repeats} times" if experiment.spec.repeats > 1 else ""
    name = found.workflow["metadata"]["name"]
    lines.append(f"  Workflow {name} from template {workflow.template}{repeats}")
    if end := _describe_end(experiment):
        lines.append(f"  {end}")
    hours = compute_longest_hours(experiment, settings)
    if found.hourly_usd:
        most = found.hourly_usd * hours
        lines.append(
            f"  cost: {found.hourly_usd:.4f} USD per hour, at most {most:.2f} USD in {hours:g} h"
        )
    else:
        lines.append("  cost: none by the hour")
    lines += [f"  warning: {warning}" for warning in found.warnings]
    return lines


def _describe_end(experiment: Experiment) -> str:
    """Describe what ends the experiment; empty if the success of its workflow does."""
    completion = experiment.spec.workflow.completion
    match completion.mode:
        case "manual":
            metadata = experiment.metadata
            return (
                "ends when it is resumed: quarterdeck experiments resume "
                f"{metadata.name} -n {metadata.namespace}"
            )
        case "condition":
            return f"ends when this is true: {completion.condition}"
        case "duration":
            return f"ends after it has run for {completion.duration}"
        case _:
            return ""


def _describe_target(each: PlannedTarget) -> list[str]:
    cluster = each.target.cluster
    size = f", {each.status.node_count} nodes" if each.status.node_count else ""
    if each.status.machine_type:
        size = f", {each.status.node_count} x {each.status.machine_type}"
    spot = ", preemptible" if cluster.preemptible else ""
    price = f", {each.hourly_usd:.4f} USD per hour" if each.hourly_usd else ""
    if prices.is_assumed(each.target, each.status):
        price += " (assumed: the price of this machine type is not known)"
    after = f" after {', '.join(each.target.depends)}" if each.target.depends else ""
    lines = [f"target {each.target.name}{after}: {cluster.type}{size}{spot}{price}"]
    if each.cluster is not None:
        lines.append(f"  {each.cluster['kind']} {each.cluster['metadata']['name']}")
    lines += [f"  Application {app['metadata']['name']}" for app in each.applications]
    return lines
