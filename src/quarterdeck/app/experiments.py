"""Attaches the experiments operator; in `up` with simulators and real target clusters."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.app.experiments_samples import SAMPLES, embedded
from quarterdeck.app.host import Host
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.settings import Settings

if TYPE_CHECKING:
    from quarterdeck.operators.experiments.ports import Grafana
    from quarterdeck.runtime import Controller

__all__ = ["SAMPLES", "SAMPLE_FILES", "attach", "controllers"]

SAMPLE_FILES: Mapping[str, str] = {
    "gateway-tutorial": "experiments_v1alpha1_experiment.yaml",
    "envoy-gateway": "experiments_v1alpha1_component.yaml",
}
"""Files whose names existing guides mention."""
_DEMO_DELAYS = (1.0, 0.5, 1.5, 0.3)


async def attach(host: Host) -> None:
    """Register the controllers, and simulators of everything they use where it is embedded."""
    settings = _settings(host)
    experiments.register(
        host.manager,
        targets=KubeconfigTargets(host.client, clock=host.clock),
        grafana=await _grafana(host, settings),
        settings=settings,
        workers=host.settings.workers,
    )
    if host.is_embedded:
        await _simulate(host, settings)


def controllers() -> "Sequence[Controller[Any]]":
    """The declarations alone, for permissions."""
    return experiments.controllers()


def _settings(host: Host) -> Settings:
    """Settings from the environment names of the existing project."""
    settings = Settings(
        metrics_url=os.environ.get("METRICS_URL", Settings().metrics_url),
        analyzer_image=os.environ.get("ANALYZER_IMAGE", ""),
    )
    if os.environ.get("GRAFANA_URL"):
        return settings._replace(grafana="http")
    return settings._replace(grafana="sidecar") if host.is_embedded else settings


async def _grafana(host: Host, settings: Settings) -> "Grafana | None":
    if settings.grafana != "http":
        return None
    from quarterdeck.kit import http
    from quarterdeck.kit.redaction import Secret
    from quarterdeck.operators.experiments.drivers.grafana import GrafanaApi

    client = await host.stack.enter_async_context(http.Client())
    token = Secret(os.environ.get("GRAFANA_TOKEN", ""))
    return GrafanaApi(os.environ["GRAFANA_URL"], token, client=client)


async def _simulate(host: Host, settings: Settings) -> None:
    """Simulators now; definitions of foreign kinds and the catalogue right after the start."""
    from quarterdeck.app import definitions
    from quarterdeck.app.cluster_factory import EmbeddedClusters
    from quarterdeck.operators.experiments import simulators
    from quarterdeck.operators.experiments.foreign import FOREIGN

    clusters = await host.stack.enter_async_context(EmbeddedClusters(clock=host.clock))
    delays = simulators.Delays(*_DEMO_DELAYS)
    simulation = simulators.Simulation(host.client, clusters, host.clock, settings, delays)
    simulators.register(host.manager, simulation)

    async def prepare() -> None:
        await definitions.install(host.client.raw, FOREIGN)
        await definitions.apply(host.client.raw, embedded())

    host.manager.add_runnable("experiments-catalogue", prepare)
