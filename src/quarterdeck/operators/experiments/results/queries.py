"""The queries of an experiment, and their placeholders. Pure."""

import re
from collections.abc import Sequence

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.apis.experiments.workflow import MetricsQuery

_PLACEHOLDER = re.compile(
    r"\$(?:\{(EXPERIMENT|NAMESPACE|DURATION)\}|(EXPERIMENT|NAMESPACE|DURATION)\b)"
)
INFRASTRUCTURE_PODS = (
    "alloy-.*|ts-vm-hub-.*|prometheus-.*|alertmanager-.*|grafana-.*|kube-state-metrics-.*|"
    "node-exporter-.*|kube-prometheus-stack-.*|tailscale-operator-.*|operator-.*"
)
SYSTEM_NAMESPACES = (
    "kube-system|kube-public|kube-node-lease|gmp-system|gke-managed-.*|tailscale|observability"
)
_SELECTOR = (
    '{experiment="$EXPERIMENT",container!="",pod!~"'
    + INFRASTRUCTURE_PODS
    + '",namespace!~"'
    + SYSTEM_NAMESPACES
    + '"}'
)
_CPU = f"rate(container_cpu_usage_seconds_total{_SELECTOR}[5m])"
_MEMORY = f"container_memory_working_set_bytes{_SELECTOR}"

DEFAULTS: tuple[MetricsQuery, ...] = (
    MetricsQuery(
        name="cpu_by_pod",
        query=f"sum by (pod) ({_CPU})",
        type="range",
        unit="cores",
        description="CPU by pod",
    ),
    MetricsQuery(
        name="memory_by_pod",
        query=f"sum by (pod) ({_MEMORY})",
        type="range",
        unit="bytes",
        description="Memory by pod",
    ),
    MetricsQuery(
        name="cpu_total",
        query=f"sum({_CPU})",
        type="range",
        unit="cores",
        description="CPU of all pods",
    ),
    MetricsQuery(
        name="memory_total",
        query=f"sum({_MEMORY})",
        type="range",
        unit="bytes",
        description="Memory of all pods",
    ),
)


def list_queries(experiment: Experiment) -> Sequence[MetricsQuery]:
    """The metrics of an experiment; CPU and memory if it names none."""
    return experiment.spec.metrics or DEFAULTS


def expand(query: str, *, experiment: str, namespace: str, duration: str) -> str:
    """Replace the placeholders of a query, `$NAME` and `${NAME}` alike."""
    values = {"EXPERIMENT": experiment, "NAMESPACE": namespace, "DURATION": duration}
    return _PLACEHOLDER.sub(lambda match: values[match[1] or match[2]], query)
