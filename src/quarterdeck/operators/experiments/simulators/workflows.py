"""Simulated Argo Workflows: runs no containers, but writes the status that a real run would have.

The template's annotation `sim.illm.io/outputs` is a JSON object of output parameters. A template
with a suspend step waits until that step is resumed; one with a duration takes no longer than the
simulated workflow. The annotation `sim.illm.io/noise: "0.05"` varies numbers called metric-NAME by
up to 5 % from run to run, so that repeats can be compared. Faults: fail, error, never, hang.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.kit import json, rfc3339
from quarterdeck.meta.objects import get_raw
from quarterdeck.operators.experiments.foreign import (
    ArgoWorkflow,
    ClusterWorkflowTemplate,
    WorkflowTemplate,
)
from quarterdeck.operators.experiments.results.outputs import find_metric_name
from quarterdeck.operators.experiments.simulators.behavior import (
    PREFIX,
    Delays,
    Timeline,
    read_behavior,
)
from quarterdeck.operators.experiments.workflows import is_terminal
from quarterdeck.runtime import Context, RequeueAfter, Result

OUTPUTS = f"{PREFIX}outputs"
NOISE = f"{PREFIX}noise"
_LABEL_PHASE = "workflows.argoproj.io/phase"
_LABEL_COMPLETED = "workflows.argoproj.io/completed"


class WorkflowError(Exception):
    """Raised when a workflow cannot be executed."""


class WorkflowSimulator:
    """Runs Workflows."""

    def __init__(self, *, delays: Delays, timeline: Timeline) -> None:
        self._delays = delays
        self._timeline = timeline

    async def reconcile(self, workflow: ArgoWorkflow, ctx: Context[ArgoWorkflow]) -> Result | None:
        """Report Running, wait for suspend steps and the delay, then end the workflow."""
        phase = workflow.status.phase
        if is_terminal(phase) or workflow.is_deleting:
            self._timeline.forget(workflow.metadata.uid)
            return None
        behavior = await read_behavior(workflow, ctx, "workflow", self._delays.workflow)
        if behavior.fault == "never":
            return None
        spec = json.decode(get_raw(workflow) or b"{}").get("spec") or {}
        try:
            template, outputs = await _resolve(spec, workflow, ctx)
        except WorkflowError as error:
            await _end(ctx, workflow, "Error", str(error))
            return None
        if shutdown := workflow.spec.shutdown:
            await _end(ctx, workflow, "Failed", f"Stopped with strategy '{shutdown}'")
            return None
        elapsed_s = self._timeline.elapsed_s(workflow.metadata.uid)
        if phase != "Running":
            await _start(ctx, workflow, template)
        limit_s = spec.get("activeDeadlineSeconds")
        if limit_s is not None and elapsed_s >= limit_s:
            await _end(ctx, workflow, "Failed", "Step exceeded its deadline")
            return None
        if behavior.fault == "hang" or _is_suspended(template, workflow):
            return RequeueAfter(limit_s - elapsed_s) if limit_s is not None else None
        if elapsed_s < behavior.delay_s:
            return RequeueAfter(behavior.delay_s - elapsed_s)
        await self._finish(ctx, workflow, behavior.fault, outputs)
        return None

    async def _finish(
        self, ctx: Context[Any], workflow: ArgoWorkflow, fault: str, outputs: Mapping[str, str]
    ) -> None:
        match fault:
            case "fail":
                await _end(ctx, workflow, "Failed", "step main failed with exit code 1")
            case "error":
                await _end(ctx, workflow, "Error", "pod deleted")
            case _:
                await _end(ctx, workflow, "Succeeded", "", outputs=outputs)


async def _resolve(
    spec: Mapping[str, Any], workflow: ArgoWorkflow, ctx: Context[Any]
) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Find the spec to run and its outputs; raises `WorkflowError` if an argument is missing."""
    reference = spec.get("workflowTemplateRef")
    if not reference:
        return spec, {}
    name = reference["name"]
    found: ClusterWorkflowTemplate | WorkflowTemplate | None
    if reference.get("clusterScope"):
        found = await ctx.find(ClusterWorkflowTemplate, name, "")
    else:
        found = await ctx.find(WorkflowTemplate, name, workflow.metadata.namespace)
    if found is None:
        raise WorkflowError(f'workflowtemplates.argoproj.io "{name}" not found')
    template: dict[str, Any] = json.decode(found.spec)
    given = {each["name"] for each in (spec.get("arguments") or {}).get("parameters") or ()}
    for each in (template.get("arguments") or {}).get("parameters") or ():
        if "value" not in each and each["name"] not in given:
            raise WorkflowError(f"spec.arguments.{each['name']}.value is required")
    try:
        text = found.metadata.annotations.get(OUTPUTS, "{}")
        outputs = msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        outputs = {}
    noise = found.metadata.annotations.get(NOISE, "")
    return template, vary(outputs, noise, seed=workflow.metadata.uid)


def vary(outputs: Mapping[str, str], noise: str, *, seed: str) -> dict[str, str]:
    """Vary the metrics in outputs randomly by a share of their value; same for the same seed."""
    try:
        share = float(noise or 0)
    except ValueError:
        share = 0.0
    found = dict(outputs)
    for name, text in outputs.items():
        if share and find_metric_name(name):
            with contextlib.suppress(ValueError):
                digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
                chance = int.from_bytes(digest[:8], "big") / 2**63 - 1
                found[name] = f"{float(text) * (1 + share * chance):.6g}"
    return found


def _list_steps(template: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [
        each for each in template.get("templates") or () if "container" in each or "script" in each
    ]
    found += [each for each in template.get("templates") or () if "suspend" in each]
    return found or [{"name": "main"}]


def _is_suspended(template: Mapping[str, Any], workflow: ArgoWorkflow) -> bool:
    """Whether a suspend step has not been resumed yet."""
    if workflow.spec.suspend:
        return True
    nodes = workflow.status.nodes
    for step in template.get("templates") or ():
        if "suspend" in step and not step["suspend"].get("duration"):
            node = nodes.get(_build_node_id(workflow, step))
            if node is None or node.phase != "Succeeded":
                return True
    return False


def _build_node_id(workflow: ArgoWorkflow, step: Mapping[str, Any]) -> str:
    return f"{workflow.metadata.name}-{step['name']}"


async def _start(ctx: Context[Any], workflow: ArgoWorkflow, template: Mapping[str, Any]) -> None:
    now, steps = rfc3339.format_time(ctx.now()), _list_steps(template)
    nodes = {
        _build_node_id(workflow, step): {
            "id": _build_node_id(workflow, step),
            "displayName": step["name"],
            "templateName": step["name"],
            "type": "Suspend" if "suspend" in step else "Pod",
            "phase": "Running",
            "startedAt": now,
        }
        for step in steps
    }
    await ctx.api.merge(
        ArgoWorkflow,
        workflow.key,
        {
            "metadata": {"labels": {_LABEL_PHASE: "Running", _LABEL_COMPLETED: "false"}},
            "status": {
                "phase": "Running",
                "startedAt": now,
                "finishedAt": None,
                "progress": f"0/{len(steps)}",
                "nodes": nodes,
            },
        },
    )


async def _end(
    ctx: Context[Any],
    workflow: ArgoWorkflow,
    phase: str,
    message: str,
    *,
    outputs: Mapping[str, str] | None = None,
) -> None:
    now = rfc3339.format_time(ctx.now())
    current = await ctx.api.get_live(ArgoWorkflow, workflow.key)
    nodes = {
        name: {"phase": phase, "finishedAt": now, "message": message or None}
        for name, node in current.status.nodes.items()
        if node.phase == "Running"
    }
    count = max(1, len(current.status.nodes))
    status: dict[str, Any] = {
        "phase": phase,
        "startedAt": current.status.started_at or now,
        "finishedAt": now,
        "message": message or None,
        "progress": f"{count}/{count}" if phase == "Succeeded" else f"0/{count}",
        "nodes": nodes,
    }
    if outputs:
        parameters = [{"name": name, "value": value} for name, value in sorted(outputs.items())]
        status["outputs"] = {"parameters": parameters}
    labels = {_LABEL_PHASE: phase, _LABEL_COMPLETED: "true"}
    patch = {"metadata": {"labels": labels}, "status": status}
    await ctx.api.merge(ArgoWorkflow, workflow.key, patch)
