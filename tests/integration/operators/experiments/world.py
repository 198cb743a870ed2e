"""A hub with the operator, simulators of everything it uses, and real target clusters."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.apis.core.config import Namespace, Secret
from quarterdeck.apis.experiments.v1alpha1 import KINDS, Component, Experiment
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client.client import Client
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import Object
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments import naming, simulators
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.foreign import (
    CLAIMS,
    COMPOSITES,
    FOREIGN,
    ArgoApplication,
    ArgoWorkflow,
    GrafanaDatasource,
)
from quarterdeck.operators.experiments.ports import Administrator, Grafana, NoResults, Results
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.simulators import Delays, Simulation
from quarterdeck.runtime import Manager
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing.server_faults import ServerFaults
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import NotFound

NAMESPACES = (
    "experiments",
    "argocd",
    "argo-workflows",
    "crossplane-system",
    "observability",
    "tailscale",
)
QUICK = Delays(cluster=0.05, application=0.02, workflow=0.05, deletion=0.02)
SETTINGS = Settings(
    grace_s=0.2,
    retry_s=0.02,
    missing_grace_s=0.3,
    resync_s=5.0,
    app_deletion_s=1.0,
    workflow_stop_s=1.0,
    grafana="sidecar",
)
WITHIN_S = 240.0


class World:
    """What a test holds."""

    def __init__(self, client: Client, clusters: EmbeddedClusters, settings: Settings) -> None:
        self.client = client
        self.clusters = clusters
        self.settings = settings

    @contextlib.asynccontextmanager
    async def operator(
        self,
        *,
        results: Results | None = None,
        grafana: Grafana | None = None,
        administrator: Administrator | None = None,
        client: Client | None = None,
        **options: Any,
    ) -> AsyncIterator[Manager]:
        """The operator, as one process runs it."""
        client = client or self.client
        manager = Manager(
            client, name="experiment-operator", graceful_shutdown_timeout_s=1.0, **options
        )
        targets = KubeconfigTargets(client, clock=SystemClock())
        ports = experiments.Ports(targets, results or NoResults(), grafana, administrator)
        experiments.register(manager, ports, settings=self.settings)
        async with manager.running():
            yield manager

    @contextlib.asynccontextmanager
    async def simulators(self, delays: Delays = QUICK) -> AsyncIterator[Manager]:
        """Crossplane, Argo CD and Argo Workflows, simulated."""
        manager = Manager(
            self.client, name="simulators", events="off", graceful_shutdown_timeout_s=1.0
        )
        simulation = Simulation(self.client, self.clusters, SystemClock(), self.settings, delays)
        simulators.register(manager, simulation)
        async with manager.running():
            yield manager

    async def create(self, document: Mapping[str, Any]) -> Experiment:
        """Create an experiment from a manifest."""
        return await self.client.create(msgspec.convert(document, Experiment))

    async def apply(self, *documents: Mapping[str, Any]) -> None:
        """Apply manifests."""
        await definitions.apply(self.client.raw, documents)

    async def template(self, name: str, *, outputs: str = "", suspend: bool = False) -> None:
        """Create a WorkflowTemplate."""
        templates: list[dict[str, Any]] = [{"name": "main", "container": {"image": "k6"}}]
        if suspend:
            templates.append({"name": "wait", "suspend": {}})
        await self.apply(
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "WorkflowTemplate",
                "metadata": {
                    "name": name,
                    "namespace": "argo-workflows",
                    "annotations": {"sim.illm.io/outputs": outputs} if outputs else {},
                },
                "spec": {"entrypoint": "main", "templates": templates},
            }
        )

    async def component(self, name: str, kind: str = "app", **spec: Any) -> None:
        """Create a Component with one chart."""
        source = {"repoURL": "https://charts.example.com", "chart": name, "targetRevision": "1.0.0"}
        await self.client.create(
            msgspec.convert(
                {
                    "metadata": {"name": name},
                    "spec": {"type": kind, "sources": [source], **spec},
                },
                Component,
            )
        )

    async def until(
        self,
        name: str,
        holds: Callable[[Experiment], bool],
        *,
        namespace: str = "experiments",
        within_s: float = WITHIN_S,
    ) -> Experiment:
        """Follow an experiment until something holds; no polling."""
        options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
        last: Experiment | None = None
        try:
            async with (
                asyncio.timeout(within_s),
                self.client.watch(Experiment, namespace, options) as events,
            ):
                async for event in events:
                    if event.type == "DELETED":
                        raise AssertionError(f"{name} was deleted")
                    last = event.object
                    if holds(event.object):
                        return last
        except TimeoutError:
            status = last.status if last is not None else None
            raise AssertionError(f"{name} never got there; its status: {status}") from None
        raise AssertionError("the watch ended")

    async def phase(self, name: str, *phases: str, **options: Any) -> Experiment:
        """Follow an experiment until it is in one of some phases."""
        return await self.until(name, lambda each: each.status.phase in phases, **options)

    async def cleaned(self, name: str, **options: Any) -> Experiment:
        """Follow an experiment until nothing of it is left."""
        return await self.until(name, lambda each: each.status.resources_cleaned, **options)

    async def delete(self, name: str, namespace: str = "experiments") -> None:
        """Delete an experiment and wait until it is gone."""
        await self.client.delete(Experiment, name, namespace)
        await self.gone(name, namespace)

    async def gone(self, name: str, namespace: str = "experiments") -> None:
        """Wait until an experiment is gone."""
        options = ListOptions(watch=True, field_selector=f"metadata.name={name}")
        async with (
            asyncio.timeout(WITHIN_S),
            self.client.watch(Experiment, namespace, options) as events,
        ):
            with contextlib.suppress(NotFound):
                await self.client.get(Experiment, name, namespace)
                async for event in events:
                    if event.type == "DELETED":
                        return

    async def leftovers(self) -> list[str]:
        """Everything that was made for an experiment and still exists: the leak detector."""
        found: list[str] = []
        labeled = ListOptions(label_selector=naming.SELECTOR)
        kinds: Sequence[type[Object]] = (
            *CLAIMS,
            ArgoApplication,
            ArgoWorkflow,
            GrafanaDatasource,
            Secret,
            Namespace,
        )
        for kind in kinds:
            objects = await self.client.list(kind, options=labeled)
            found += [f"{kind.KIND.kind} {each.key}" for each in objects]
        for kind in COMPOSITES:
            found += [f"{kind.KIND.kind} {each.key}" for each in await self.client.list(kind)]
        for secret in await self.client.list(Secret, "crossplane-system"):
            found.append(f"Secret {secret.key}")
        found += [f"cluster {name}" for name in self.clusters.names]
        return found

    async def events(self, name: str) -> list[str]:
        """The reasons of an experiment's events."""
        from quarterdeck.apis.core.events import Event

        return [
            each.reason
            for each in await self.client.list(Event, "experiments")
            if each.involved_object.name == name
        ]


@contextlib.asynccontextmanager
async def hub(
    settings: Settings = SETTINGS, *, faults: ServerFaults | None = None
) -> AsyncIterator[World]:
    """A hub on which nothing runs yet."""
    options = ServerOptions(simulate_workloads=True)
    async with (
        Cluster(options=options, faults=faults) as cluster,
        EmbeddedClusters(clock=SystemClock()) as clusters,
    ):
        client = cluster.client
        await definitions.install(client.raw, [*KINDS, *FOREIGN])
        world = World(client, clusters, settings)
        await world.apply(
            *(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                for name in NAMESPACES
            )
        )
        yield world


@contextlib.asynccontextmanager
async def running(settings: Settings = SETTINGS, **ports: Any) -> AsyncIterator[World]:
    """A hub with the operator and all simulators."""
    async with hub(settings) as world, world.simulators(), world.operator(**ports):
        yield world


def experiment(
    name: str,
    *targets: Mapping[str, Any],
    namespace: str = "experiments",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """The manifest of an experiment; one target on the hub if none is given."""
    return {
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "spec": {
            "targets": list(targets) or [{"name": "app", "cluster": {"type": "hub"}}],
            "workflow": {"template": "smoke", "completion": {"mode": "workflow"}},
            **spec,
        },
    }


def target(name: str, type_: str, *components: str, **members: Any) -> dict[str, Any]:
    """A target with app components."""
    return {
        "name": name,
        "cluster": {"type": type_, **members.pop("cluster", {})},
        "components": [{"app": each} for each in components],
        **members,
    }
