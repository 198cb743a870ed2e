"""Applications of Argo CD, and Workflows with their templates."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.operators.experiments.foreign.condition import OPEN, ForeignCondition


class Health(Struct, frozen=True, kw_only=True):
    """The health of an Application or of one of its resources."""

    status: str = ""
    message: str = ""
    last_transition_time: str = ""


class Sync(Struct, frozen=True, kw_only=True):
    """Whether the cluster is as the sources say."""

    status: str = ""


class OperationState(Struct, frozen=True, kw_only=True):
    """The last sync."""

    phase: str = ""
    message: str = ""
    finished_at: str = ""


class AppResource(Struct, frozen=True, kw_only=True):
    """One object that an Application installs."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ArgoApplicationStatus(Struct, frozen=True, kw_only=True):
    """The fields of an Application's status that are read."""

    health: Annotated[Health, OPEN] = Health()
    sync: Annotated[Sync, OPEN] = Sync()
    operation_state: Annotated[OperationState, OPEN] = OperationState()
    conditions: Annotated[tuple[ForeignCondition, ...], Schema(items=OPEN)] = ()
    resources: Annotated[tuple[AppResource, ...], Schema(items=OPEN)] = ()


class Destination(Struct, frozen=True, kw_only=True):
    """The cluster and namespace that an Application installs into."""

    server: str = ""
    namespace: str = ""


class ArgoApplicationSpec(Struct, frozen=True, kw_only=True):
    """The fields of an Application's spec that are read."""

    destination: Annotated[Destination, OPEN] = Destination()


class ArgoApplication(Object, frozen=True, kw_only=True):
    """An Application of Argo CD; it has no status subresource."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="Application",
        plural="applications",
        singular="application",
        subresource_status=False,
    )
    spec: Annotated[ArgoApplicationSpec, OPEN] = ArgoApplicationSpec()
    status: Annotated[ArgoApplicationStatus, OPEN] = ArgoApplicationStatus()


class OutputParameter(Struct, frozen=True, kw_only=True):
    """An output of a workflow."""

    name: str = ""
    value: Any = ""


class Outputs(Struct, frozen=True, kw_only=True):
    """The outputs of a workflow."""

    parameters: Annotated[tuple[OutputParameter, ...], Schema(items=OPEN)] = ()


class Node(Struct, frozen=True, kw_only=True):
    """One step of a workflow."""

    id: str = ""
    display_name: str = ""
    type: str = ""
    template_name: str = ""
    phase: str = ""
    message: str = ""


class ArgoWorkflowStatus(Struct, frozen=True, kw_only=True):
    """The fields of a Workflow's status that are read."""

    phase: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    progress: str = ""
    message: str = ""
    nodes: Annotated[Mapping[str, Node], Schema(items=OPEN)] = {}
    outputs: Annotated[Outputs, OPEN] | None = None


class ArgoWorkflowSpec(Struct, frozen=True, kw_only=True):
    """The fields of a Workflow's spec that are read."""

    shutdown: str = ""
    suspend: bool | None = None


class ArgoWorkflow(Object, frozen=True, kw_only=True):
    """A Workflow of Argo Workflows; it has no status subresource."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="Workflow",
        plural="workflows",
        singular="workflow",
        subresource_status=False,
    )
    spec: Annotated[ArgoWorkflowSpec, OPEN] = ArgoWorkflowSpec()
    status: Annotated[ArgoWorkflowStatus, OPEN] = ArgoWorkflowStatus()


class WorkflowTemplate(Object, frozen=True, kw_only=True):
    """A WorkflowTemplate of Argo Workflows; only whether it exists matters here."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="WorkflowTemplate",
        plural="workflowtemplates",
        singular="workflowtemplate",
        subresource_status=False,
    )
    spec: Annotated[msgspec.Raw, OPEN] = msgspec.Raw(b"{}")


class ClusterWorkflowTemplate(Object, frozen=True, kw_only=True):
    """A ClusterWorkflowTemplate of Argo Workflows."""

    KIND = KindInfo(
        group="argoproj.io",
        version="v1alpha1",
        kind="ClusterWorkflowTemplate",
        plural="clusterworkflowtemplates",
        singular="clusterworkflowtemplate",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    spec: Annotated[msgspec.Raw, OPEN] = msgspec.Raw(b"{}")
