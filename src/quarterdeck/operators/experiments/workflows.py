"""Objects of Argo Workflows: what is submitted, and what its status means. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.experiments.status import FailedNode, TargetStatus, WorkflowStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import duration
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.foreign import ArgoWorkflow
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.substitution import Scope, substitute

TERMINAL = frozenset({"Succeeded", "Failed", "Error"})
STOPPED = "Stopped"
"""The phase we write for a Workflow that was still running when its experiment ended."""
_MAX_OUTPUT = 4096
_MAX_OUTPUTS = 64
_MAX_FAILED_NODES = 10


def is_terminal(phase: str) -> bool:
    """Whether a Workflow of this phase has ended."""
    return phase in TERMINAL


def find_failure_reason(phase: str) -> Reason | None:
    """The reason of the experiment for a failed Workflow; None if it has not failed."""
    return {"Failed": Reason.WORKFLOW_FAILED, "Error": Reason.WORKFLOW_ERROR}.get(phase)


def build_parameters(
    experiment: Experiment, targets: Sequence[TargetStatus], scope: Scope
) -> dict[str, str]:
    """Build the arguments of the workflow; injected ones win over those of the spec."""
    given = {
        name: substitute(value, scope) for name, value in experiment.spec.workflow.params.items()
    }
    injected = {"experiment-name": experiment.metadata.name}
    for target in targets:
        if not target.endpoint:
            continue
        injected[f"{target.name}-endpoint"] = target.endpoint
        injected[f"{target.name}-name"] = target.name
        injected.setdefault("target-endpoint", target.endpoint)
        injected.setdefault("target-name", target.name)
    return {**given, **injected}


def list_required(spec: Any) -> tuple[str, ...]:
    """The parameters of a WorkflowTemplate's spec that have no value of their own."""
    arguments = spec.get("arguments") if isinstance(spec, dict) else None
    declared = arguments.get("parameters") if isinstance(arguments, dict) else None
    return tuple(
        str(each["name"])
        for each in declared or ()
        if isinstance(each, dict) and "name" in each and not {"value", "valueFrom"} & each.keys()
    )


def build(
    experiment: Experiment, name: str, arguments: Mapping[str, str], settings: Settings
) -> dict[str, Any]:
    """Build the Workflow that runs the template."""
    workflow = experiment.spec.workflow
    reference: dict[str, Any] = {"name": workflow.template}
    if workflow.cluster_scope:
        reference["clusterScope"] = True
    spec: dict[str, Any] = {
        **_build_base_spec(experiment, settings),
        "workflowTemplateRef": reference,
        "arguments": _build_arguments(arguments),
    }
    return _build_workflow(experiment, name, spec, settings)


def build_inline(
    experiment: Experiment, name: str, arguments: Mapping[str, str], settings: Settings
) -> dict[str, Any]:
    """Build a Workflow without a template: it logs a line and, in manual mode, suspends."""
    steps: list[list[dict[str, Any]]] = [[{"name": "log", "template": "log"}]]
    templates: list[dict[str, Any]] = [
        {"name": "experiment-lifecycle", "steps": steps},
        {
            "name": "log",
            "container": {
                "image": "alpine:3.19",
                "command": ["echo", f"experiment {experiment.metadata.name}"],
            },
        },
    ]
    if experiment.spec.workflow.completion.mode == "manual":
        steps.append([{"name": "wait", "template": "wait"}])
        templates.append({"name": "wait", "suspend": {}})
    spec = {
        **_build_base_spec(experiment, settings),
        "entrypoint": "experiment-lifecycle",
        "templates": templates,
        "arguments": _build_arguments(arguments),
    }
    return _build_workflow(experiment, name, spec, settings)


def build_status(workflow: ArgoWorkflow, before: WorkflowStatus | None) -> WorkflowStatus:
    """Build the entry of a Workflow in the experiment's status."""
    status = workflow.status
    outputs = status.outputs.parameters if status.outputs is not None else ()
    started = status.started_at or (before.started_at if before is not None else "")
    failed = [node for node in status.nodes.values() if node.phase in ("Failed", "Error")]
    return WorkflowStatus(
        name=workflow.metadata.name,
        phase=status.phase or "Pending",
        started_at=started,
        finished_at=status.finished_at or "",
        progress=status.progress,
        message=status.message[:_MAX_OUTPUT],
        outputs={
            each.name: _to_text(each.value)[:_MAX_OUTPUT]
            for each in outputs[:_MAX_OUTPUTS]
            if each.name
        },
        failed_nodes=tuple(
            FailedNode(
                display_name=node.display_name,
                template=node.template_name,
                phase=node.phase,
                message=node.message[:1024],
            )
            for node in sorted(failed, key=lambda node: node.display_name)[:_MAX_FAILED_NODES]
        ),
    )


def list_suspended_nodes(workflow: ArgoWorkflow) -> list[str]:
    """Ids of the suspended steps, sorted."""
    return sorted(
        name
        for name, node in workflow.status.nodes.items()
        if node.type == "Suspend" and node.phase == "Running"
    )


def build_resume_patch(workflow: ArgoWorkflow, *, now: str) -> dict[str, Any]:
    """Build the patch that resumes a Workflow, as `argo resume` does; empty if not suspended."""
    patch: dict[str, Any] = {}
    nodes = list_suspended_nodes(workflow)
    if nodes:
        patch["status"] = {
            "nodes": {
                name: {"phase": "Succeeded", "finishedAt": now, "message": "resumed"}
                for name in nodes
            }
        }
    if workflow.spec.suspend:
        patch["spec"] = {"suspend": None}
    return patch


def _build_base_spec(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "serviceAccountName": settings.workflow_service_account,
        "archiveLogs": True,
    }
    if limit := experiment.spec.timeouts.workflow:
        spec["activeDeadlineSeconds"] = max(1, int(duration.parse_seconds(limit)))
    return spec


def _build_arguments(arguments: Mapping[str, str]) -> dict[str, Any]:
    return {"parameters": [{"name": name, "value": arguments[name]} for name in sorted(arguments)]}


def _build_workflow(
    experiment: Experiment, name: str, spec: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": settings.workflow_namespace,
            "labels": naming.build_labels(experiment),
        },
        "spec": spec,
    }


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else str(value)
