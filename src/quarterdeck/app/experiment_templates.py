"""WorkflowTemplates of the experiments that ship.

The annotation `sim.illm.io/outputs` says what simulated workflows report; a real Argo Workflows
ignores it and runs the containers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Manifest = Mapping[str, Any]
_CURL = "curlimages/curl:8.11.0"
_ENDPOINT = "{{workflow.parameters.target-endpoint}}"
_NAME = "{{workflow.parameters.experiment-name}}"


def _build_template(
    name: str,
    templates: Sequence[Manifest],
    *,
    parameters: Sequence[Manifest] = (),
    annotations: Mapping[str, str] | None = None,
    on_exit: str = "",
) -> Manifest:
    metadata: dict[str, Any] = {"name": name, "namespace": "argo-workflows"}
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec: dict[str, Any] = {"entrypoint": "main"}
    if parameters:
        spec["arguments"] = {"parameters": list(parameters)}
    if on_exit:
        spec["onExit"] = on_exit
    spec["templates"] = list(templates)
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": metadata,
        "spec": spec,
    }


def _simulate(outputs: Mapping[str, str], *, noise: str = "") -> dict[str, str]:
    """Annotations: what simulated runs report, and how much their metrics vary."""
    text = msgspec.json.encode(outputs, order="sorted").decode()
    found = {"sim.illm.io/outputs": text}
    return {**found, "sim.illm.io/noise": noise} if noise else found


def _build_container(name: str, image: str, command: Sequence[str], *args: str) -> Manifest:
    return {"name": name, "container": {"image": image, "command": [*command], "args": [*args]}}


def _build_sequence(*steps: str) -> Manifest:
    return {"name": "main", "steps": [[{"name": each, "template": each}] for each in steps]}


_CHECK = _build_container("check", _CURL, ["curl"], "-fsSk", f"https://{_ENDPOINT}/livez")
"""A step that checks that the target's API server answers."""
_LOG = _build_container("log", _CURL, ["echo"], f"experiment {_NAME} is done")
_TARGET = ({"name": "experiment-name"}, {"name": "target-endpoint"})


def _build_lesson(name: str) -> Manifest:
    """Checks the target, then waits until a person has finished the lesson."""
    explore = {"name": "explore", "suspend": {}}
    main = _build_sequence("check", "explore")
    return _build_template(name, (main, _CHECK, explore), parameters=_TARGET)


def _build_observation(name: str, minutes: str, outputs: Mapping[str, str]) -> Manifest:
    """Checks the target, then lets it run for a while; metrics are collected afterwards."""
    observe = {"name": "observe", "suspend": {"duration": minutes}}
    main = _build_sequence("check", "observe", "log")
    templates = (main, _CHECK, observe, _LOG)
    simulated = _simulate(outputs, noise="0.05")
    return _build_template(name, templates, parameters=_TARGET, annotations=simulated)


def _format_metrics(values: Mapping[str, float]) -> dict[str, str]:
    return {f"metric-{name}": f"{value:g}" for name, value in values.items()}


_GATEWAYS = {"nginx": 1.0, "traefik": 1.2, "envoy": 0.9}
_GATEWAY_METRICS = {
    **{
        f"{gateway}_{name}": value * factor
        for gateway, factor in _GATEWAYS.items()
        for name, value in (
            ("rps", 1800.0),
            ("p50_ms", 2.1),
            ("p95_ms", 6.4),
            ("p99_ms", 11.5),
            ("error_rate", 0.0004),
            ("memory_bytes", 9.4e7),
        )
    },
    "total_requests": 1.62e6,
    "total_cpu_cores": 1.7,
}
_LOGGING_METRICS = {
    f"{backend}_{name}": value * factor
    for backend, factor in (("loki", 1.0), ("elasticsearch", 3.1))
    for name, value in (
        ("ingest_rate", 5100.0),
        ("ingest_errors", 0.0),
        ("query_p50_ms", 42.0),
        ("query_p95_ms", 180.0),
        ("query_p99_ms", 420.0),
        ("cpu_cores", 0.4),
        ("memory_bytes", 6.1e8),
        ("disk_bytes", 1.2e9),
        ("bytes_per_line", 61.0),
        ("restarts", 0.0),
    )
}
_TSDB_METRICS = {
    "prometheus_memory": 8.1e8,
    "prometheus_cpu": 0.5,
    "prometheus_disk": 1.9e9,
    "victoria_memory": 3.2e8,
    "victoria_cpu": 0.3,
    "victoria_disk": 6.0e8,
    "mimir_memory": 2.4e9,
    "mimir_cpu": 1.4,
    "mimir_disk": 7.1e8,
    "active_series": 250000,
}
_BASELINE = """\
import http from "k6/http";

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  const { http_reqs, http_req_duration, http_req_failed } = data.metrics;
  return {
    "/tmp/http_reqs": String(http_reqs.values.count),
    "/tmp/http_p95_ms": String(http_req_duration.values["p(95)"]),
    "/tmp/http_error_rate": String(http_req_failed.values.rate),
  };
}
"""
"""A script of k6 that writes what it measured to files, which become output parameters."""
_K6: Manifest = {
    "name": "load",
    "script": {
        "image": "grafana/k6:0.56.0",
        "command": [
            *("k6", "run"),
            *("--vus", "{{workflow.parameters.users}}"),
            *("--duration", "{{workflow.parameters.duration}}"),
        ],
        "env": [{"name": "URL", "value": "{{workflow.parameters.url}}"}],
        "source": _BASELINE,
    },
    "outputs": {
        "parameters": [
            {
                "name": name,
                "globalName": f"metric-{name}",
                "valueFrom": {"path": f"/tmp/{name}"},
            }
            for name in ("http_reqs", "http_p95_ms", "http_error_rate")
        ]
    },
}
_STEPS_OF_CI = {
    "build": "gcr.io/kaniko-project/executor:v1.23.2",
    "sbom": "anchore/syft:v1.18.1",
    "scan": "aquasec/trivy:0.58.1",
    "sign": "gcr.io/projectsigstore/cosign:v2.4.1",
}

TEMPLATES: tuple[Manifest, ...] = (
    _build_template(
        "cicd-fundamentals",
        (
            _build_sequence(*_STEPS_OF_CI),
            *(
                _build_container(name, image, [name], "--help")
                for name, image in _STEPS_OF_CI.items()
            ),
        ),
        annotations=_simulate({"verdict": "pass"}),
    ),
    _build_lesson("elk-validation"),
    _build_observation("gateway-comparison", "46m", _format_metrics(_GATEWAY_METRICS)),
    _build_template(
        "gateway-validation",
        (_build_sequence("check", "log"), _CHECK, _LOG),
        parameters=_TARGET,
        annotations=_simulate({"verdict": "pass", **_format_metrics({"p99": 0.42})}),
    ),
    _build_template(
        "hello-app-validation",
        (_build_sequence("check", "log"), _CHECK, _LOG),
        parameters=_TARGET,
        annotations=_simulate({"verdict": "pass", **_format_metrics({"p99": 0.031})}),
    ),
    _build_template(
        "http-baseline",
        (
            _build_sequence("load"),
            _K6,
            _build_container("cleanup", _CURL, ["echo"], f"load of {_NAME} has ended"),
        ),
        parameters=(
            {"name": "experiment-name"},
            {"name": "url"},
            {"name": "users", "value": "10"},
            {"name": "duration", "value": "60s"},
        ),
        annotations=_simulate(
            _format_metrics({"http_reqs": 58200, "http_p95_ms": 4.8, "http_error_rate": 0}),
            noise="0.05",
        ),
        on_exit="cleanup",
    ),
    _build_observation("logging-comparison", "75m", _format_metrics(_LOGGING_METRICS)),
    _build_lesson("loki-validation"),
    _build_lesson("observability-cost-validation"),
    _build_lesson("otel-validation"),
    _build_lesson("prometheus-validation"),
    _build_lesson("seaweedfs-validation"),
    _build_lesson("slo-validation"),
    _build_template(
        "template-validation",
        (_build_sequence("check", "log"), _CHECK, _LOG),
        parameters=_TARGET,
        annotations=_simulate(_format_metrics({"p99_latency": 0.2})),
    ),
    _build_observation("tracing-comparison", "20m", {"verdict": "pass"}),
    _build_observation("tsdb-comparison", "90m", _format_metrics(_TSDB_METRICS)),
)
