"""Components of the catalog that generate load: k6 in a Job, with the address that they get.

The Job is rendered by a chart for arbitrary objects (`raw`), so that nothing must be installed.
Argo CD reports a Job as healthy once it has succeeded: what depends on the load waits for its end,
and an address that does not answer fails the experiment.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

Manifest = Mapping[str, Any]

IMAGE = "grafana/k6:0.56.0"
_REPOSITORY, _CHART, _VERSION = "https://bedag.github.io/helm-charts", "raw", "2.0.2"
_REPLACED = {"argocd.argoproj.io/sync-options": "Replace=true,Force=true"}
"""Annotation with sync options of Argo CD: a Job cannot be changed, so it is replaced."""
_ONE_ADDRESS = """\
import http from "k6/http";
import { check } from "k6";

export const options = { thresholds: { checks: ["rate>0.5"] } };

export default function () {
  check(http.get(__ENV.TARGET_URL), { answered: (found) => found.status > 0 });
}
"""
_ONE_GATEWAY = """\
import http from "k6/http";

export default function () {
  http.get("http://" + __ENV.TARGET_ENDPOINT + "/", {
    headers: { Host: __ENV.GATEWAY + ".local" },
    tags: { gateway: __ENV.GATEWAY },
  });
}
"""
_EVERY_GATEWAY = """\
set -e
if [ -n "$K6_PROMETHEUS_RW_SERVER_URL" ]; then export K6_OUT=experimental-prometheus-rw; fi
for GATEWAY in $(echo "$GATEWAYS" | tr , ' '); do
  export GATEWAY
  k6 run --vus "$USERS" --duration "$DURATION" /scripts/load.js
done
"""


def build_source(name: str) -> Manifest:
    """The source of a Component that loads one address."""
    command = ["k6", "run", "--vus", "${users}", "--duration", "${duration}", "/scripts/load.js"]
    environment = {"TARGET_URL": "${targetUrl}"}
    return _build_chart(name, _build_job(name, command, environment), _ONE_ADDRESS)


def build_gateway_source(name: str) -> Manifest:
    """The source of a Component that loads several gateways, one after the other."""
    environment = {
        "TARGET_ENDPOINT": "${targetEndpoint}",
        "GATEWAYS": "${gateways}",
        "USERS": "${users}",
        "DURATION": "${duration}",
        "K6_PROMETHEUS_RW_SERVER_URL": "${prometheusUrl}",
        "K6_PROMETHEUS_RW_TREND_STATS": "p(50),p(95),p(99)",
    }
    return _build_chart(
        name, _build_job(name, ["sh", "-c", _EVERY_GATEWAY], environment), _ONE_GATEWAY
    )


def _build_chart(name: str, job: Manifest, script: str) -> Manifest:
    scripts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"load.js": script},
    }
    # JSON is YAML too: it needs no writer that takes long to load, and every parameter is quoted,
    # so that numbers stay texts
    encoded = msgspec.json.encode({"resources": [scripts, job]})
    values = msgspec.json.format(encoded, indent=2).decode() + "\n"
    return {
        "repoURL": _REPOSITORY,
        "chart": _CHART,
        "targetRevision": _VERSION,
        "helm": {"releaseName": name, "values": values},
    }


def _build_job(name: str, command: list[str], environment: Mapping[str, str]) -> Manifest:
    container = {
        "name": "k6",
        "image": IMAGE,
        "command": command,
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "volumeMounts": [{"name": "scripts", "mountPath": "/scripts", "readOnly": True}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "scripts", "configMap": {"name": name}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": _REPLACED},
        "spec": {"backoffLimit": 1, "template": {"spec": pod}},
    }
