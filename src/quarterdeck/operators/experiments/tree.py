"""Draws an experiment and its objects as a tree. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from quarterdeck.apis.experiments.status import TargetStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments.foreign import ArgoApplication
from quarterdeck.operators.experiments.naming import LABEL_TARGET


class Node(NamedTuple):
    """A line of the tree, with its children."""

    text: str
    children: tuple["Node", ...] = ()


def build(experiment: Experiment, applications: Sequence[ArgoApplication]) -> Node:
    """Build the tree of an experiment."""
    status = experiment.status
    by_name = {each.name: each for each in status.targets}
    targets = [
        _build_target(
            by_name.get(each.name) or TargetStatus(name=each.name),
            each.cluster.type,
            [app for app in applications if app.metadata.labels.get(LABEL_TARGET) == each.name],
        )
        for each in experiment.spec.targets
    ]
    runs = list(status.runs)
    last = status.workflow_status
    if last is not None and all(each.name != last.name for each in runs):
        runs.append(last)
    workflows = [
        Node(
            _format_line(f"Workflow {each.name}", each.phase, each.progress, each.message),
            tuple(Node(f"output {name}={value}") for name, value in sorted(each.outputs.items())),
        )
        for each in runs
    ]
    title = _format_line(
        f"Experiment {experiment.key}", status.phase or "Pending", _describe_reason(experiment)
    )
    return Node(title, (*targets, *workflows, *_list_outcome(experiment)))


def _describe_reason(experiment: Experiment) -> str:
    status = experiment.status
    if not status.reason or status.reason == status.phase:
        return ""
    return f"{status.reason}: {status.message}" if status.message else status.reason


def _build_target(
    status: TargetStatus, cluster_type: str, applications: Sequence[ArgoApplication]
) -> Node:
    where = " ".join(dict.fromkeys(filter(None, (cluster_type, status.cluster_name))))
    why = f"{status.reason}: {status.message}" if status.reason else ""
    title = _format_line(f"target {status.name} ({where})", status.phase or "Pending", why)
    apps = [
        Node(
            _format_line(
                f"Application {app.metadata.name}",
                app.status.health.status or "new",
                app.status.sync.status,
            ),
            tuple(Node(f"{each.kind}/{each.name}") for each in app.status.resources),
        )
        for app in applications
    ]
    if not apps:
        apps = [Node(each) for each in status.components]
    return Node(title, tuple(apps))


def _list_outcome(experiment: Experiment) -> list[Node]:
    status, found = experiment.status, []
    if status.hypothesis_result:
        found.append(Node(f"hypothesis {status.hypothesis_result}"))
    if status.cost_estimate is not None:
        found.append(Node(f"cost {status.cost_estimate.total_usd} USD"))
    if status.results_url:
        found.append(Node(f"results {status.results_url}"))
    if status.resources_cleaned:
        found.append(Node("all created objects are deleted"))
    return found


def _format_line(title: str, *details: str) -> str:
    return "  ".join(filter(None, (title, *details)))


def draw(node: Node) -> list[str]:
    """Format the tree as lines."""
    return [node.text, *_draw_children(node, "")]


def _draw_children(node: Node, indent: str) -> list[str]:
    lines: list[str] = []
    for index, child in enumerate(node.children):
        is_last = index == len(node.children) - 1
        lines.append(f"{indent}{'└─ ' if is_last else '├─ '}{child.text}")
        lines += _draw_children(child, indent + ("   " if is_last else "│  "))
    return lines
