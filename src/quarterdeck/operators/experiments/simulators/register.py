"""Registers the simulators with a manager."""

from typing import Any, NamedTuple

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.client import Client
from quarterdeck.client.factory import ClusterFactory
from quarterdeck.kit.clock import Clock
from quarterdeck.operators.experiments.argocd import RESOURCES_FINALIZER
from quarterdeck.operators.experiments.foreign import (
    ArgoApplication,
    ArgoWorkflow,
    CapiCluster,
    CapiVCluster,
    ClusterRequest,
    ClusterWorkflowTemplate,
    GKECluster,
    TalosCluster,
    VCluster,
    WorkflowTemplate,
    XGKECluster,
    XTalosCluster,
    XVCluster,
)
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.simulators.argocd import ArgoSimulator
from quarterdeck.operators.experiments.simulators.behavior import Delays, Timeline
from quarterdeck.operators.experiments.simulators.clusters import (
    CAPI_FINALIZER,
    CLAIM_FINALIZER,
    CapiSimulator,
    CrossplaneSimulator,
)
from quarterdeck.operators.experiments.simulators.installer import Installer
from quarterdeck.operators.experiments.simulators.workflows import WorkflowSimulator
from quarterdeck.runtime import Controller, Finalizer, Manager

_CLAIMS: dict[type[ClusterRequest], type[ClusterRequest]] = {
    GKECluster: XGKECluster,
    TalosCluster: XTalosCluster,
    VCluster: XVCluster,
}
_WORKERS = 4


class Simulation(NamedTuple):
    """The dependencies of the simulators."""

    client: Client
    factory: ClusterFactory
    clock: Clock
    settings: Settings = Settings()
    delays: Delays = Delays()


def register(manager: Manager, simulation: Simulation) -> None:
    """Run all simulators in a manager."""
    for controller in declare_controllers(simulation):
        manager.add(controller)


def declare_controllers(simulation: Simulation) -> list[Controller[Any]]:
    """The declarations of all simulators."""
    timeline = Timeline(simulation.clock)
    return [
        *(
            _build_claim_controller(simulation, timeline, claim, composite)
            for claim, composite in _CLAIMS.items()
        ),
        *(_capi(simulation, timeline, kind) for kind in (CapiCluster, CapiVCluster)),
        _argocd(simulation, timeline),
        _build_workflow_controller(simulation, timeline),
    ]


def _build_claim_controller(
    simulation: Simulation,
    timeline: Timeline,
    claim: type[ClusterRequest],
    composite: type[ClusterRequest],
) -> Controller[Any]:
    simulator = CrossplaneSimulator(
        simulation.factory,
        composite,
        namespace=simulation.settings.crossplane_namespace,
        delays=simulation.delays,
        timeline=timeline,
    )
    return Controller(
        reconcile=simulator.reconcile,
        for_=claim,
        name=f"crossplane-sim-{claim.KIND.singular}",
        reads=(Experiment,),
        writes=(composite,),
        finalizers=(Finalizer(CLAIM_FINALIZER, simulator.delete),),
        ready=None,
        conditions=("Ready", "Synced"),
        workers=_WORKERS,
    )


def _capi(
    simulation: Simulation, timeline: Timeline, kind: type[ClusterRequest]
) -> Controller[Any]:
    simulator = CapiSimulator(simulation.factory, delays=simulation.delays, timeline=timeline)
    return Controller(
        reconcile=simulator.reconcile,
        for_=kind,
        name=f"capi-sim-{kind.KIND.singular}",
        reads=(Experiment,),
        finalizers=(Finalizer(CAPI_FINALIZER, simulator.delete),),
        ready=None,
        workers=_WORKERS,
    )


def _argocd(simulation: Simulation, timeline: Timeline) -> Controller[Any]:
    simulator = ArgoSimulator(
        Installer(simulation.client, clock=simulation.clock),
        namespace=simulation.settings.argocd_namespace,
        delays=simulation.delays,
        timeline=timeline,
    )
    return Controller(
        reconcile=simulator.reconcile,
        for_=ArgoApplication,
        name="argocd-sim",
        reads=(Experiment,),
        finalizers=(Finalizer(RESOURCES_FINALIZER, simulator.delete),),
        needs_finalizers=lambda app: False,  # the creator of an Application sets it
        ready=None,
        workers=_WORKERS,
    )


def _build_workflow_controller(simulation: Simulation, timeline: Timeline) -> Controller[Any]:
    simulator = WorkflowSimulator(delays=simulation.delays, timeline=timeline)
    return Controller(
        reconcile=simulator.reconcile,
        for_=ArgoWorkflow,
        name="workflow-sim",
        reads=(Experiment, WorkflowTemplate, ClusterWorkflowTemplate),
        predicates=(),
        ready=None,
        workers=_WORKERS,
    )
