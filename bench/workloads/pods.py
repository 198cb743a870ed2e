"""Pods as an API server lists them, without managed fields: about three kilobytes each."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339

_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_DIFFERENT = 10_000
_PHASES = ("Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed")
_QOS = ("Burstable", "Guaranteed", "BestEffort")


def make_pod(number: int) -> dict[str, Any]:
    """A pod of a Deployment with a sidecar."""
    app = f"app-{number % 97}"
    phase = _PHASES[number % len(_PHASES)]
    started = rfc3339.format_time(_FIRST + timedelta(seconds=number * 37))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{app}-6f9c7b5d4c-{number:06x}",
            "namespace": f"team-{number % 40}",
            "uid": f"0f8fad5b-d9cb-469f-a165-{number:012x}",
            "resourceVersion": str(1_000_000 + number),
            "creationTimestamp": started,
            "generateName": f"{app}-6f9c7b5d4c-",
            "labels": {
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/part-of": "shop",
                "pod-template-hash": "6f9c7b5d4c",
            },
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{app}-6f9c7b5d4c",
                    "uid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "containers": [_container(app, number), _container("proxy", number + 3)],
            "volumes": [
                {"name": "config", "configMap": {"name": app, "defaultMode": 420}},
                {"name": "token", "projected": {"defaultMode": 420, "sources": []}},
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": app,
            "nodeName": f"node-{number % 50}",
            "securityContext": {"runAsNonRoot": True, "fsGroup": 65532},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{taint}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for taint in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": phase,
            "conditions": [
                {
                    "type": type_,
                    "status": "True" if phase == "Running" else "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": started,
                }
                for type_ in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "hostIP": f"10.0.{number % 50}.2",
            "podIP": f"10.{number % 200}.{number % 250}.{number % 240}",
            "startTime": started,
            "containerStatuses": [_status(app, number, started), _status("proxy", 0, started)],
            "qosClass": _QOS[number % 3],
        },
    }


def _container(name: str, number: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.{number % 30}.0",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {
            "requests": {
                "cpu": f"{number % 20 * 50 + 50}m",
                "memory": f"{number % 16 * 64 + 64}Mi",
            },
            "limits": {"memory": f"{number % 16 * 128 + 128}Mi"},
        },
        "volumeMounts": [{"name": "config", "readOnly": True, "mountPath": "/etc/app"}],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "http", "scheme": "HTTP"},
            "periodSeconds": 10,
            "failureThreshold": 3,
        },
        "imagePullPolicy": "IfNotPresent",
    }


def _status(name: str, number: int, started: str) -> dict[str, Any]:
    return {
        "name": name,
        "state": {"running": {"startedAt": started}},
        "lastState": {},
        "ready": True,
        "restartCount": number % 11,
        "image": f"registry.example.com/shop/{name}:1.{number % 30}.0",
        "imageID": f"registry.example.com/shop/{name}@sha256:{number:064x}",
        "containerID": f"containerd://{number:064x}",
        "started": True,
    }


def encode_pages(count: int, size: int) -> list[bytes]:
    """That many pods as pages of a list, each a JSON array; after the first 10,000 they repeat."""
    different = [
        msgspec.json.encode([make_pod(number) for number in range(start, start + size)])
        for start in range(0, min(count, _DIFFERENT), size)
    ]
    return [different[index % len(different)] for index in range(-(-count // size))]
