"""Registers the operator with a manager: two controllers, their watches and scopes."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from quarterdeck.apis.core.config import ConfigMap, Namespace, Secret
from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.v1alpha1 import FINALIZER, Experiment
from quarterdeck.client.interfaces import Form
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments import component as components
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.clusters import build_adapters, list_request_kinds
from quarterdeck.operators.experiments.conditions import TYPES, VALID
from quarterdeck.operators.experiments.experiment import (
    FIRST_RETRY_S,
    LAST_RETRY_S,
    Experiments,
    needs_finalizer,
    report_error,
)
from quarterdeck.operators.experiments.foreign import (
    CAPI_SECRET_TYPE,
    COMPOSITES,
    CROSSPLANE_SECRET_TYPE,
    ArgoApplication,
    ArgoWorkflow,
    CapiSecretHead,
    ClusterWorkflowTemplate,
    CrossplaneSecretHead,
    GrafanaDatasource,
    OwnConfigMapHead,
    OwnNamespaceHead,
    OwnSecretHead,
    PostRunJob,
    WorkflowTemplate,
)
from quarterdeck.operators.experiments.metrics import ExperimentMetrics
from quarterdeck.operators.experiments.ownership import (
    BY_EXPERIMENT,
    get_experiment_key,
    index_values,
)
from quarterdeck.operators.experiments.ports import (
    Administrator,
    Grafana,
    NoResults,
    Results,
    Targets,
)
from quarterdeck.operators.experiments.run import Environment
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.runtime import CacheScope, Controller, Finalizer, Lister, Manager, Watch
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter

DEFAULTS = Settings()
BY_PHASE = "phase"
BY_SECRET = "connection-secret"

OTHERS: tuple[type[Object], ...] = (
    ArgoApplication,
    ArgoWorkflow,
    GrafanaDatasource,
    PostRunJob,
)
"""Kinds, besides cluster requests, of which only objects with our label are cached."""
HEADS: tuple[type[Object], ...] = (OwnSecretHead, OwnConfigMapHead, OwnNamespaceHead)
"""Kinds cached by metadata alone, so that no data of Secrets is kept in memory."""
WRITES: tuple[type[Object], ...] = (*OTHERS, Experiment, Secret, ConfigMap, Namespace)
"""Kinds the operator writes without owning them, besides requests for clusters."""


class Ports(NamedTuple):
    """The ports of the operator; only `targets` is required."""

    targets: Targets
    results: Results = NoResults()
    grafana: Grafana | None = None
    administrator: Administrator | None = None


def register(
    manager: Manager, ports: Ports, *, settings: Settings = DEFAULTS, workers: int = 8
) -> None:
    """Run the operator in a manager."""
    metrics = ExperimentMetrics(manager.metrics.registry)
    environment = Environment(
        settings,
        build_adapters(settings),
        ports.targets,
        ports.results,
        metrics,
        ports.grafana,
        ports.administrator,
    )
    labeled = (*list_request_kinds(environment.adapters), *OTHERS)
    for kind in labeled:
        manager.set_cache_scope(kind, CacheScope(labels=naming.SELECTOR, is_optional=True))
    for kind in HEADS:
        manager.set_cache_scope(kind, CacheScope(labels=naming.SELECTOR, form=Form.METADATA))
    manager.set_cache_scope(
        CrossplaneSecretHead,
        CacheScope(fields=f"type={CROSSPLANE_SECRET_TYPE}", form=Form.METADATA),
    )
    manager.set_cache_scope(
        CapiSecretHead, CacheScope(fields=f"type={CAPI_SECRET_TYPE}", form=Form.METADATA)
    )
    for kind in (WorkflowTemplate, ClusterWorkflowTemplate):
        manager.set_cache_scope(kind, CacheScope(form=Form.FULL, is_optional=True))
    manager.add(build_experiment_controller(environment, workers=workers))
    manager.add(build_component_controller())
    lister, clock = manager.informers, manager.clock
    manager.metrics.registry.add_collector(
        lambda: metrics.refresh(
            lister.list(Experiment),
            [obj for kind in (*labeled, *HEADS) for obj in lister.list(kind)],
            now=clock.now(),
        )
    )


def build_experiment_controller(
    environment: Environment, *, workers: int = 8
) -> Controller[Experiment]:
    """The declaration of the Experiment controller."""
    experiments = Experiments(environment)
    requests = list_request_kinds(environment.adapters)
    tracked = (*requests, *OTHERS, *HEADS)
    return Controller(
        reconcile=experiments.reconcile,
        for_=Experiment,
        watches=(
            *(Watch(kind, map_to_experiment) for kind in tracked),
            Watch(CrossplaneSecretHead, map_secret_to_experiments),
            Watch(CapiSecretHead, map_secret_to_experiments),
            Watch(Component, map_component_to_experiments),
            Watch(WorkflowTemplate, map_template_to_experiments),
            Watch(ClusterWorkflowTemplate, map_template_to_experiments),
        ),
        indexes={
            Experiment: {BY_PHASE: index_by_phase, BY_SECRET: index_by_secret},
            **{kind: {BY_EXPERIMENT: index_values} for kind in tracked},
        },
        writes=(*requests, *WRITES),
        gets=COMPOSITES,
        finalizers=(Finalizer(FINALIZER, experiments.clean_up),),
        needs_finalizers=needs_finalizer,
        on_error=report_error,
        ready=None,
        conditions=TYPES,
        workers=workers,
        rate_limiter=lambda: ItemExponentialFailureRateLimiter(FIRST_RETRY_S, LAST_RETRY_S),
    )


def build_component_controller() -> Controller[Component]:
    """The declaration of the Component controller."""
    return Controller(
        reconcile=components.reconcile,
        for_=Component,
        ready=None,
        conditions=(VALID,),
        workers=2,
    )


def declare_controllers(settings: Settings = DEFAULTS) -> Sequence[Controller[Any]]:
    """The declarations without a manager, from which permissions are generated."""
    environment = Environment(
        settings, build_adapters(settings), _NoTargets(), NoResults(), ExperimentMetrics()
    )
    return (build_experiment_controller(environment), build_component_controller())


class _NoTargets:
    """Replaces the port to targets where controllers are declared and never run."""

    async def probe(self, kubeconfig: bytes) -> str:
        raise NotImplementedError

    async def apply(self, kubeconfig: bytes, documents: Sequence[Any]) -> None:
        raise NotImplementedError

    async def find_service(self, kubeconfig: bytes | None, namespace: str, name: str) -> Any:
        raise NotImplementedError


# --- mapping functions of the watches


def map_to_experiment(obj: Object, lister: Lister) -> Iterable[Key]:
    """The experiment that an object's labels name."""
    key = get_experiment_key(obj)
    return (key,) if key is not None else ()


def map_secret_to_experiments(head: Object, lister: Lister) -> Iterable[Key]:
    """The experiments whose cluster's kubeconfig is or will be in a Secret."""
    for experiment in lister.list(Experiment, index=(BY_SECRET, str(head.key))):
        yield experiment.key


def map_component_to_experiments(component: Component, lister: Lister) -> Iterable[Key]:
    """The experiments that may wait for a component."""
    for experiment in lister.list(Experiment, index=(BY_PHASE, "Pending")):
        yield experiment.key


def map_template_to_experiments(template: Object, lister: Lister) -> Iterable[Key]:
    """The experiments that may wait for a workflow template."""
    for phase in ("Ready", "Running"):
        for experiment in lister.list(Experiment, index=(BY_PHASE, phase)):
            yield experiment.key


def index_by_phase(experiment: Experiment) -> Sequence[str]:
    """Return the phase as an index value."""
    return (experiment.status.phase or "Pending",)


def index_by_secret(experiment: Experiment) -> Sequence[str]:
    """Return the Secrets with kubeconfigs as index values."""
    found = [each.connection_secret for each in experiment.status.targets]
    return tuple(dict.fromkeys(filter(None, found)))
