"""Attaches the experiments operator; in `up` with simulators and real target clusters."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.app.experiment_results import open_results
from quarterdeck.app.experiments_options import build_operator_settings
from quarterdeck.app.experiments_samples import SAMPLES, list_catalog, list_namespaces
from quarterdeck.app.experiments_settings import Settings as ExperimentsSettings
from quarterdeck.app.host import Host
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.settings import Settings

if TYPE_CHECKING:
    from quarterdeck.operators.experiments.ports import Administrator, Grafana
    from quarterdeck.runtime import Controller

__all__ = ["SAMPLES", "SAMPLE_FILES", "attach", "declare_controllers"]

SAMPLE_FILES: Mapping[str, str] = {
    "gateway-tutorial": "experiments_v1alpha1_experiment.yaml",
    "envoy-gateway": "experiments_v1alpha1_component.yaml",
}
"""Files whose names existing guides mention."""
_DEMO_DELAYS = (1.0, 0.5, 1.5, 0.3)


async def attach(host: Host) -> None:
    """Register the controllers, and in `up` simulators of everything they use."""
    given = host.get_settings(ExperimentsSettings)
    settings = build_operator_settings(given, is_embedded=host.is_embedded)
    metrics_url = given.metrics_url
    if not metrics_url and not host.is_embedded:
        metrics_url = settings.metrics_url
    targets = KubeconfigTargets(host.client, clock=host.clock)
    ports = experiments.Ports(
        targets,
        await open_results(host, metrics_url=metrics_url),
        await _open_grafana(host, settings),
        await _create_administrator(host, targets, settings),
    )
    experiments.register(host.manager, ports, settings=settings, workers=host.settings.workers)
    if host.is_embedded:
        await _simulate(host, settings)


def declare_controllers() -> "Sequence[Controller[Any]]":
    """The declarations of the controllers, from which permissions are derived; they never run."""
    return experiments.declare_controllers()


async def _open_grafana(host: Host, settings: Settings) -> "Grafana | None":
    if settings.grafana != "http":
        return None
    from quarterdeck.kit import http
    from quarterdeck.operators.experiments.drivers.grafana import GrafanaApi

    client = await host.stack.enter_async_context(http.Client())
    given = host.get_settings(ExperimentsSettings)
    return GrafanaApi(given.grafana_url, given.grafana_token, client=client)


async def _create_administrator(
    host: Host, targets: KubeconfigTargets, settings: Settings
) -> "Administrator | None":
    """Create what grants permissions on real GKE clusters; None in `up`, with simulated ones."""
    if host.is_embedded:
        return None
    from quarterdeck.kit import http
    from quarterdeck.meta.identity import Key
    from quarterdeck.operators.experiments.drivers.gcp import GcpAdministrator

    web = await host.stack.enter_async_context(http.Client())
    secret = Key(settings.crossplane_namespace, "gcp-credentials")
    return GcpAdministrator(host.client, targets, secret=secret, web=web, clock=host.clock)


async def _simulate(host: Host, settings: Settings) -> None:
    """Start simulators and create namespaces; after the start, add foreign kinds and the catalog.

    Experiments can be applied as soon as `up` is ready; they wait for what does not exist yet.
    """
    from quarterdeck.app import definitions
    from quarterdeck.app.cluster_factory import EmbeddedClusters
    from quarterdeck.operators.experiments import simulators
    from quarterdeck.operators.experiments.foreign import FOREIGN

    clusters = await host.stack.enter_async_context(EmbeddedClusters(clock=host.clock))
    delays = simulators.Delays(*_DEMO_DELAYS)
    simulation = simulators.Simulation(host.admin, clusters, host.clock, settings, delays)
    simulators.register(host.manager, simulation)

    await definitions.apply(host.admin.raw, list_namespaces())

    async def prepare() -> None:
        await definitions.install(host.admin.raw, FOREIGN)
        await definitions.apply(host.admin.raw, list_catalog())

    host.manager.add_runnable("experiments-catalog", prepare)
