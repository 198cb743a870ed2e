"""The operator as it was: kopf's handlers for creation, change and deletion, and a timer."""

from typing import Any

import kopf
import kubernetes


@kopf.on.create("example.com", "v1", "pages")
@kopf.on.resume("example.com", "v1", "pages")
def create(spec: Any, name: str, namespace: str, patch: Any, **_: Any) -> None:
    body = build_config_map(name, spec)
    kopf.adopt(body)
    api = kubernetes.client.CoreV1Api()
    try:
        api.create_namespaced_config_map(namespace, body)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        api.patch_namespaced_config_map(body["metadata"]["name"], namespace, body)
    patch.status["configMap"] = body["metadata"]["name"]


@kopf.on.update("example.com", "v1", "pages")
def update(spec: Any, name: str, namespace: str, **_: Any) -> None:
    body = build_config_map(name, spec)
    api = kubernetes.client.CoreV1Api()
    api.patch_namespaced_config_map(body["metadata"]["name"], namespace, body)


def build_config_map(name: str, spec: Any) -> dict[str, Any]:
    if not spec.get("title"):
        raise kopf.PermanentError("spec.title is empty")
    page = f"<h1>{spec['title']}</h1>"
    return {"metadata": {"name": f"{name}-page"}, "data": {"index.html": page}}
