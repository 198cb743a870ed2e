"""Deployments for the load generator: a built-in kind, read in JSON and in protobuf."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

PATH = "/apis/apps/v1/namespaces/default/deployments"

Send = Callable[..., Awaitable[bytes]]


def build(name: str) -> bytes:
    """A Deployment without replicas, so that no controller works while it is read."""
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "bench"}
    container: dict[str, Any] = {
        "name": "main",
        "image": "registry.example.com/shop/cart:1.2.3",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": f"SETTING_{number}", "value": "on"} for number in range(5)],
        "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"},
            "limits": {"memory": "128Mi"},
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
    }
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
    return json.dumps({**value, "spec": spec}).encode()


async def seed(send: Send, count: int) -> None:
    """Create Deployments; those that exist stay."""
    found = json.loads(await send("GET", f"{PATH}?limit=500"))["items"]
    for number in range(len(found), count):
        await send("POST", PATH, build(f"d{number}"))
