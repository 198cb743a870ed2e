"""Observability of an experiment: injected components, and a Grafana datasource. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from quarterdeck.apis.experiments.components import Component
from quarterdeck.apis.experiments.status import Layer
from quarterdeck.apis.experiments.targets import ComponentRef, Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments import catalog, naming
from quarterdeck.operators.experiments.components import Problem, Resolved, resolve
from quarterdeck.operators.experiments.ports import Datasource
from quarterdeck.operators.experiments.settings import Settings

TAILNET_URL = "http://vm-hub.observability.svc:8428"
"""URL of the metrics store on targets of a tailnet, by the egress Service."""
WRITE_PATH = "/api/v1/write"


def is_enabled(target: Target) -> bool:
    """Whether metrics of a target are collected."""
    return target.observability is not None and target.observability.enabled


def choose_tenant(experiment: Experiment, target: Target) -> str:
    """Choose the tenant of a target's metrics."""
    observability = target.observability
    given = observability.tenant if observability is not None else ""
    return given or experiment.metadata.name


def list_injected(
    experiment: Experiment, target: Target, settings: Settings
) -> Iterator[tuple[ComponentRef, Layer]]:
    """Components to add to a target's own; none on the hub, which has an agent already."""
    observability = target.observability
    if observability is None or not observability.enabled or target.cluster.type == "hub":
        return
    named = {ref.app or ref.config for ref in target.components}
    url = observability.endpoint or settings.remote_write_url or settings.metrics_url + WRITE_PATH
    if observability.transport == "tailscale":
        url = TAILNET_URL + WRITE_PATH
        if catalog.TAILSCALE_OPERATOR not in named:
            yield ComponentRef(app=catalog.TAILSCALE_OPERATOR), "infra"
        if catalog.METRICS_EGRESS not in named:
            yield ComponentRef(config=catalog.METRICS_EGRESS), "obs"
    if catalog.METRICS_AGENT not in named:
        params = {
            "experiment": experiment.metadata.name,
            "target": target.name,
            "tenant": choose_tenant(experiment, target),
            "remoteWriteUrl": url,
        }
        yield ComponentRef(app=catalog.METRICS_AGENT, params=params), "obs"


def resolve_injected(
    experiment: Experiment, target: Target, components: Mapping[str, Component], settings: Settings
) -> tuple[list[tuple[Resolved, Mapping[str, str]]], list[Problem]]:
    """Resolve the injected components with their parameters; also returns the errors."""
    found: list[tuple[Resolved, Mapping[str, str]]] = []
    problems: list[Problem] = []
    for ref, layer in list_injected(experiment, target, settings):
        path = f"observability of target {target.name}"
        one = resolve(ref, components, path=path, by_convention=False)
        if isinstance(one, Problem):
            problems.append(one)
            continue
        declared = {parameter.name for parameter in one.parameters}
        params = {name: value for name, value in ref.params.items() if name in declared}
        if one.origin == "Component" and not declared and ref.params:
            # components of the existing project take the experiment by this chart value alone
            params = {"alloy.extraEnv[0].value": experiment.metadata.name}
        found.append((one._replace(layer=layer), params))
    return found, problems


def build_datasource(experiment: Experiment, settings: Settings) -> Datasource | None:
    """The Grafana datasource of an experiment; None if no target has metrics."""
    for target in experiment.spec.targets:
        if is_enabled(target):
            tenant = choose_tenant(experiment, target)
            return Datasource(
                uid=naming.build_datasource_uid(experiment, tenant),
                name=f"{naming.build_base_name(experiment)} ({tenant})",
                url=settings.metrics_url,
                tenant=tenant,
                experiment=experiment.metadata.name,
            )
    return None


def describe(source: Datasource) -> dict[str, Any]:
    """Build the document that Grafana's API, operator and provisioning files all accept."""
    return {
        "name": source.name,
        "uid": source.uid,
        "type": "prometheus",
        "url": source.url,
        "access": "proxy",
        "isDefault": False,
        "jsonData": {
            "httpMethod": "POST",
            "timeInterval": "30s",
            "httpHeaderName1": "X-Scope-OrgID",
            "customQueryParameters": f"extra_label={quote(f'experiment={source.experiment}')}",
        },
        "secureJsonData": {"httpHeaderValue1": source.tenant},
    }


def build_grafana_datasource(
    experiment: Experiment, source: Datasource, settings: Settings
) -> dict[str, Any]:
    """The datasource for the Grafana operator."""
    described = describe(source)
    described.pop("uid")
    return {
        "apiVersion": "grafana.integreatly.org/v1beta1",
        "kind": "GrafanaDatasource",
        "metadata": {
            "name": source.uid,
            "namespace": settings.observability_namespace,
            "labels": naming.build_labels(experiment),
        },
        "spec": {
            "uid": source.uid,
            "allowCrossNamespaceImport": True,
            "instanceSelector": {"matchLabels": {"dashboards": "grafana"}},
            "datasource": described,
        },
    }


def build_sidecar_config_map(
    experiment: Experiment, source: Datasource, settings: Settings
) -> dict[str, Any]:
    """The datasource as a ConfigMap that Grafana's sidecar loads."""
    document = {"apiVersion": 1, "datasources": [describe(source)]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"grafana-datasource-{source.uid}",
            "namespace": settings.observability_namespace,
            "labels": {**naming.build_labels(experiment), "grafana_datasource": "1"},
        },
        "data": {f"{source.uid}.yaml": yaml.dump(document)},
    }
