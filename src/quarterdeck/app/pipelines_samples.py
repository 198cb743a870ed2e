"""Samples of the pipelines operator: what `config/samples` holds, and what `up --demo` applies."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.apis.fleetmanagement.names import GROUP

_API = f"{GROUP}/v1alpha1"
_ALLOY = """\
prometheus.scrape "self" {
  targets    = [{"__address__" = "127.0.0.1:12345"}]
  forward_to = [prometheus.remote_write.metrics.receiver]
}

prometheus.remote_write "metrics" {
  endpoint {
    url = "http://metrics.example.com/api/v1/write"
  }
}
"""
_OTEL = """\
receivers:
  otlp:
    protocols:
      grpc: {}
processors:
  batch: {}
exporters:
  debug: {}
service:
  pipelines:
    metrics:
      receivers: [otlp]
      processors: [batch]
      exporters: [debug]
"""
_LOGS = """\
loki.source.file "system" {
  targets    = [{"__path__" = "/var/log/syslog"}]
  forward_to = [loki.write.logs.receiver]
}

loki.write "logs" {
  endpoint {
    url = "http://logs.example.com/loki/api/v1/push"
  }
}
"""


def _sample(kind: str, name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = {"name": name} | ({} if kind == "TenantPolicy" else {"namespace": "default"})
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}


_PIPELINES: tuple[Mapping[str, Any], ...] = (
    {
        "apiVersion": _API,
        "kind": "Pipeline",
        "metadata": {"name": "pipeline-sample", "namespace": "default"},
        "spec": {
            "contents": _ALLOY,
            "matchers": ["collector.os=linux", 'team=~"team-(a|b)"'],
            "enabled": True,
            "configType": "Alloy",
        },
    },
    {
        "apiVersion": _API,
        "kind": "Pipeline",
        "metadata": {"name": "pipeline-otel-sample", "namespace": "default"},
        "spec": {
            "contents": _OTEL,
            "matchers": ["collector.os=linux"],
            "enabled": True,
            "configType": "OpenTelemetryCollector",
        },
    },
)
_FIELD: tuple[Mapping[str, Any], ...] = (
    _sample(
        "PipelineSet",
        "field-set",
        {
            "source": {"type": "Git", "namespace": "quarterdeck-demo"},
            "matchers": ["env=field"],
            "maxDeletions": 2,
            "pipelines": [
                {"name": "field-logs", "contents": _LOGS},
                {"name": "field-metrics", "contents": _ALLOY},
            ],
        },
    ),
    _sample(
        "Pipeline",
        "field-canary",
        {
            "contents": _ALLOY,
            "matchers": ["env=field"],
            "rollout": {
                "steps": [
                    {"weight": 30, "duration": "20s"},
                    {"weight": 60, "duration": "20s"},
                ]
            },
        },
    ),
    _sample("CollectorDiscovery", "registered", {"pollInterval": "1m", "includeInactive": True}),
    _sample(
        "RemoteAttributePolicy",
        "field-region",
        {
            "selector": {"matchers": ["env=field"]},
            "attributes": {"region": "north"},
            "priority": 10,
        },
    ),
)
DEMO_SAMPLES = (*_PIPELINES, *_FIELD)
"""What `up --demo` applies."""
SAMPLES = (
    *DEMO_SAMPLES,
    _sample(
        "FleetConnection",
        "grafana-cloud",
        {
            "url": "https://fleet-management-prod-001.grafana.net",
            "secretRef": {"name": "fleet-management-credentials"},
        },
    ),
    _sample(
        "Collector", "edge-host-42", {"id": "edge-host-42", "remoteAttributes": {"env": "prod"}}
    ),
    _sample("PipelineDiscovery", "existing", {"importMode": "ReadOnly", "pollInterval": "5m"}),
    _sample(
        "TenantPolicy",
        "billing",
        {
            "namespaceSelector": {"matchLabels": {"tenant": "billing"}},
            "requiredMatchers": ["team=billing"],
        },
    ),
    _sample(
        "ExternalAttributeSync",
        "inventory",
        {
            "source": {
                "http": {
                    "url": "https://inventory.example.com/api/hosts",
                    "recordsPath": "data.hosts",
                },
                "secretRef": {"name": "inventory-token"},
            },
            "schedule": "15m",
            "mapping": {
                "collectorIDField": "hostname",
                "attributeFields": {"datacenter": "site", "rack": "rack"},
                "requiredKeys": ["datacenter"],
            },
        },
    ),
)
"""What `config/samples` holds."""
SAMPLE_FILES = {
    "pipeline-sample": "fleetmanagement_v1alpha1_pipeline.yaml",
    "pipeline-otel-sample": "pipeline_otel_sample.yaml",
}
"""Files whose names existing guides mention."""
