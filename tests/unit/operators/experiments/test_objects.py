"""Every object the operator generates, compared with a file.

`QUARTERDECK_UPDATE_GOLDEN=1` writes the files anew.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.operators.experiments.samples import component, experiment

from quarterdeck.apis.experiments.status import TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments import argocd, naming, observability, plan, workflows
from quarterdeck.operators.experiments.clusters import build_adapters
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.substitution import Scope
from quarterdeck.operators.experiments.validation import validate

FOLDER = Path(__file__).parents[3] / "golden" / "experiments"
SETTINGS = Settings()
CAPI = Settings(talos_mode="capi", vcluster_mode="capi")
COMPONENTS = {
    each.metadata.name: each
    for each in (
        component("envoy-gateway"),
        component("nginx-ingress"),
        component(
            "demo-services",
            sources=[{"repoURL": "https://git.example.com/demo.git", "path": "k8s"}],
        ),
        component(
            "k6-http-loadgen",
            "workflow",
            parameters=[
                {"name": "targetUrl", "required": True},
                {"name": "users", "type": "int", "default": "5"},
                {"name": "duration", "default": "60s"},
            ],
        ),
    )
}


def seed(**spec: Any) -> Experiment:
    """The sample of the existing project."""
    return experiment(
        "gateway-tutorial",
        {
            "name": "app",
            "cluster": {
                "type": "gke",
                "zone": "us-central1-a",
                "nodeCount": 2,
                "machineType": "e2-medium",
                "preemptible": True,
            },
            "components": [
                {"app": "envoy-gateway"},
                {"app": "nginx-ingress"},
                {"app": "demo-services"},
            ],
            "observability": {"enabled": True, "transport": "tailscale", "tenant": "gateway-lab"},
        },
        {
            "name": "loadgen",
            "cluster": {"type": "hub"},
            "components": [
                {
                    "workflow": "k6-http-loadgen",
                    "params": {
                        "targetUrl": "http://${targets.app.endpoint}/api",
                        "users": "10",
                        "duration": "300s",
                    },
                }
            ],
            "depends": ["app"],
        },
        workflow={"template": "gateway-validation", "completion": {"mode": "workflow"}},
        **spec,
    )


def expect(name: str, document: Mapping[str, Any]) -> None:
    """Compare with `name.yaml`."""
    path, text = FOLDER / f"{name}.yaml", yaml.dump(document)
    if os.environ.get("QUARTERDECK_UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text


def request(type_: str, settings: Settings = SETTINGS, **cluster: Any) -> Mapping[str, Any]:
    found = experiment("golden", {"name": "app", "cluster": {"type": type_, **cluster}})
    target = found.spec.targets[0]
    adapter = build_adapters(settings)[type_]
    name = naming.build_cluster_name(found, target.name, limit=adapter.max_name)
    return plan.with_labels(adapter.build(found, target, name), found, target.name)


@pytest.mark.parametrize(
    ("name", "type_", "settings", "cluster"),
    [
        ("claim-gke-defaults", "gke", SETTINGS, {}),
        (
            "claim-gke",
            "gke",
            SETTINGS,
            {
                "zone": "europe-west1-b",
                "nodeCount": 3,
                "machineType": "e2-standard-4",
                "diskSizeGb": 100,
                "preemptible": True,
                "kubernetesVersion": "1.31",
            },
        ),
        ("claim-talos", "talos", SETTINGS, {"nodeCount": 2}),
        ("claim-vcluster", "vcluster", SETTINGS, {}),
        ("capi-talos", "talos", CAPI, {}),
        ("capi-vcluster", "vcluster", CAPI, {}),
    ],
)
def test_requests_for_clusters_are_the_golden_ones(
    name: str, type_: str, settings: Settings, cluster: Mapping[str, Any]
) -> None:
    expect(name, request(type_, settings, **cluster))


@pytest.mark.parametrize(
    ("name", "connection"),
    [
        (
            "cluster-secret-certificate",
            Connection("https://34.1.2.3", ca_data="QQ==", cert_data="Qg==", key_data="Qw=="),
        ),
        ("cluster-secret-token", Connection("https://34.1.2.3:6443", ca_data="QQ==", token="t")),
        ("cluster-secret-insecure", Connection("https://10.0.0.1", token="t", insecure=True)),
    ],
)
def test_cluster_secrets_are_the_golden_ones(name: str, connection: Connection) -> None:
    found = argocd.build_cluster_secret(
        seed(), "app", "gateway-tutorial-app", connection, namespace="argocd"
    )
    expect(name, found)


def applications(
    exp: Experiment, target: Target, scope: Scope, server: str
) -> list[dict[str, Any]]:
    checked = validate(exp, COMPONENTS)
    assert checked.problems == ()
    recorded, problems = plan.record_components(exp, target, checked, COMPONENTS, SETTINGS)
    assert problems == []
    status = TargetStatus(name=target.name, resolved_components=recorded)
    return [
        argocd.build_application(exp, target, app, server=server, scope=scope, settings=SETTINGS)
        for app in argocd.plan_apps(exp, target, status)
    ]


def test_applications_of_the_sample_are_the_golden_ones() -> None:
    exp = seed()
    app, loadgen = exp.spec.targets
    found = applications(exp, app, Scope(), "https://34.1.2.3")
    assert [each["metadata"]["name"] for each in found] == [
        "gateway-tutorial-app-tailscale-operator",
        "gateway-tutorial-app-metrics-egress",
        "gateway-tutorial-app-metrics-agent",
        "gateway-tutorial-app-envoy-gateway",
        "gateway-tutorial-app-nginx-ingress",
        "gateway-tutorial-app-demo-services",
    ]
    for each in found:
        expect(f"application-{each['metadata']['name']}", each)
    scope = Scope(targets={"app": {"endpoint": "34.1.2.3"}})
    (last,) = applications(exp, loadgen, scope, argocd.IN_CLUSTER)
    expect("application-gateway-tutorial-loadgen-k6-http-loadgen", last)


def test_merged_applications_by_layer_are_the_golden_ones() -> None:
    exp = seed()
    target = msgspec.structs.replace(exp.spec.targets[0], applications="PerTarget")
    found = applications(exp, target, Scope(), "https://34.1.2.3")
    assert [each["metadata"]["name"] for each in found] == [
        "gateway-tutorial-app-infra",
        "gateway-tutorial-app-obs",
        "gateway-tutorial-app-workload",
    ]
    expect("application-merged-workload", found[-1])


def test_no_secret_is_written_into_an_application() -> None:
    exp = seed()
    for each in applications(exp, exp.spec.targets[0], Scope(), "https://34.1.2.3"):
        assert "oauth.client" not in str(each)


def test_transport_direct_needs_no_tailnet() -> None:
    exp = experiment(
        "direct",
        {
            "name": "app",
            "cluster": {"type": "gke"},
            "observability": {
                "enabled": True,
                "transport": "direct",
                "endpoint": "https://metrics.example.com/api/v1/write",
            },
        },
    )
    found = applications(exp, exp.spec.targets[0], Scope(), "https://34.1.2.3")
    assert [each["metadata"]["name"] for each in found] == ["direct-app-metrics-agent"]
    expect("application-direct-metrics-agent", found[0])


STATUSES = (
    TargetStatus(name="app", endpoint="1.2.3.4"),
    TargetStatus(name="lg", cluster_name="hub"),
)


def test_the_workflow_of_the_sample_is_the_golden_one() -> None:
    arguments = workflows.build_parameters(seed(), STATUSES, Scope())
    assert arguments == {
        "experiment-name": "gateway-tutorial",
        "app-endpoint": "1.2.3.4",
        "app-name": "app",
        "target-endpoint": "1.2.3.4",
        "target-name": "app",
    }
    name = naming.build_workflow_name(seed())
    expect("workflow", workflows.build(seed(), name, arguments, SETTINGS))


def test_workflows_of_other_kinds_are_the_golden_ones() -> None:
    limited = seed(timeouts={"workflow": "90s"})
    expect("workflow-deadline", workflows.build(limited, "w", {"a": "1"}, SETTINGS))
    manual = experiment(
        "manual", workflow={"template": "t", "completion": {"mode": "manual"}, "clusterScope": True}
    )
    expect("workflow-inline-manual", workflows.build_inline(manual, "w", {}, SETTINGS))
    expect("workflow-cluster-template", workflows.build(manual, "w", {}, SETTINGS))


def test_datasources_of_all_back_ends_are_the_golden_ones() -> None:
    exp = seed()
    source = observability.build_datasource(exp, SETTINGS)
    assert source is not None
    expect("datasource-http", observability.describe(source))
    expect("datasource-operator", observability.build_grafana_datasource(exp, source, SETTINGS))
    expect("datasource-sidecar", observability.build_sidecar_config_map(exp, source, SETTINGS))


def test_the_job_after_the_run_is_the_golden_one() -> None:
    exp = seed(
        postRun={"image": "example.com/report:1", "args": ["--name", "${experiment.name}"]},
        publish=True,
    )
    found = plan.build_post_run_job(
        exp, results_url="s3://bucket/gateway-tutorial/", settings=SETTINGS
    )
    assert found is not None
    expect("post-run-job", found)
    assert plan.build_post_run_job(seed(), results_url="", settings=SETTINGS) is None
    analyzed = plan.build_post_run_job(
        seed(publish=True), results_url="x", settings=Settings(analyzer_image="example.com/a:1")
    )
    assert analyzed is not None
    expect("analyzer-job", analyzed)
