"""Creates and deletes the Grafana datasource of an experiment, by the configured back end."""

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.meta.conditions import FALSE, TRUE
from quarterdeck.operators.experiments import observability
from quarterdeck.operators.experiments.conditions import OBSERVABILITY_READY, Reason
from quarterdeck.operators.experiments.foreign import GrafanaDatasource, OwnConfigMapHead
from quarterdeck.operators.experiments.ownership import list_own
from quarterdeck.operators.experiments.ports import Datasource, GrafanaUnavailable
from quarterdeck.operators.experiments.run import Run
from quarterdeck.wire.status import NotFound


async def ensure(run: Run) -> None:
    """Create the datasource once; a failure of Grafana does not stop the experiment."""
    source = observability.build_datasource(run.ctx.obj, run.settings)
    if source is None or run.settings.grafana == "none":
        return
    if run.is_true(OBSERVABILITY_READY):
        return
    try:
        await _write(run, source)
    except (GrafanaUnavailable, NotFound) as error:
        message = f"datasource {source.uid}: {error}"
        run.set_condition(OBSERVABILITY_READY, FALSE, Reason.GRAFANA_UNAVAILABLE, message)
        return
    run.set(datasource_uid=source.uid)
    message = f"datasource {source.uid}, tenant {source.tenant}"
    run.set_condition(OBSERVABILITY_READY, TRUE, Reason.DATASOURCE_CREATED, message)


async def delete(run: Run) -> list[str]:
    """Remove the datasource; returns a description of what could not be removed."""
    if run.spec.retain_datasource:
        return []
    for kind in (GrafanaDatasource, OwnConfigMapHead):
        for found in await list_own(run, kind):
            if not found.is_deleting:
                await run.ctx.delete(found)
    if run.environment.grafana is not None and run.status.datasource_uid:
        try:
            await run.environment.grafana.delete(run.status.datasource_uid)
        except GrafanaUnavailable as error:
            return [f"Grafana datasource {run.status.datasource_uid} ({error})"]
    run.set(datasource_uid="")
    return []


async def _write(run: Run, source: Datasource) -> None:
    experiment, settings = run.ctx.obj, run.settings
    match settings.grafana:
        case "http":
            if run.environment.grafana is None:
                raise GrafanaUnavailable("no address of Grafana is configured")
            await run.environment.grafana.ensure(source)
        case "operator":
            document = observability.build_grafana_datasource(experiment, source, settings)
            await run.ctx.api.apply(GrafanaDatasource, document)
        case "sidecar":
            document = observability.build_sidecar_config_map(experiment, source, settings)
            await run.ctx.api.apply(ConfigMap, document)
        case "none":
            return
