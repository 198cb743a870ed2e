"""Thousands of clusters behind one TLS port: recorded answers, told apart by the path.

`python -m bench.peers.cluster_sim NODES PODS NAMESPACES FOLDER` writes its certificates to FOLDER
and prints its port. The API server of cluster 17 is at https://127.0.0.1:PORT/17. It ends with its
input.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from quarterdeck.app import certificates
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.clusters.simulators.contents import Profile, build_manifests

_HEADERS = [("Content-Type", "application/json")]
_RESOURCES = {
    "/api/v1/nodes": ("v1", "Node"),
    "/api/v1/pods": ("v1", "Pod"),
    "/api/v1/namespaces": ("v1", "Namespace"),
    "/api/v1/services": ("v1", "Service"),
    "/api/v1/configmaps": ("v1", "ConfigMap"),
    "/api/v1/persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
    "/apis/apps/v1/deployments": ("apps/v1", "Deployment"),
    "/apis/apps/v1/statefulsets": ("apps/v1", "StatefulSet"),
    "/apis/apps/v1/daemonsets": ("apps/v1", "DaemonSet"),
    "/apis/networking.k8s.io/v1/ingresses": ("networking.k8s.io/v1", "Ingress"),
}
_DISCOVERY = {
    "/api/v1": [("persistentvolumeclaims", "PersistentVolumeClaim"), ("pods", "Pod")],
    "/apis/apps/v1": [("deployments", "Deployment")],
}


def record(profile: Profile) -> dict[str, bytes]:
    """Every answer there is, by path."""
    objects: dict[tuple[str, str], list[Any]] = {}
    for each in build_manifests(profile):
        objects.setdefault((each["apiVersion"], each["kind"]), []).append(each)
    answers = {
        path: _list(api, kind, objects.get((api, kind), []))
        for path, (api, kind) in _RESOURCES.items()
    }
    for path, found in _DISCOVERY.items():
        resources = [
            {"name": name, "kind": kind, "namespaced": True, "verbs": ["list"]}
            for name, kind in found
        ]
        answers[path] = json.encode({"kind": "APIResourceList", "resources": resources})
    answers["/version"] = json.encode({"gitVersion": "v1.32.4"})
    return answers


def _list(api: str, kind: str, items: list[Any]) -> bytes:
    metadata = {"resourceVersion": "1"}
    return json.encode(
        {"apiVersion": api, "kind": f"{kind}List", "metadata": metadata, "items": items}
    )


async def _serve(profile: Profile, folder: Path) -> None:
    answers = record(profile)
    one = _list("v1", "Namespace", [{"metadata": {"name": "default"}}])
    missing = http.Response(404, _HEADERS, b'{"kind":"Status","code":404,"reason":"NotFound"}')

    async def handle(request: http.Request) -> http.Response:
        _, _, rest = request.path[1:].partition("/")
        body = answers.get(f"/{rest}")
        if body is None:
            return missing
        if rest == "api/v1/namespaces" and "limit=1&" in f"{request.target}&":
            body = one
        return http.Response(200, _HEADERS, body)

    pki = certificates.ensure(folder, SystemClock().now())
    server = http.Server(handle)
    listener = await server.listen("127.0.0.1", 0, tls=pki.server_context())
    print(listener.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.close()


def main() -> None:
    nodes, pods, namespaces = map(int, sys.argv[1:4])
    profile = Profile(nodes=nodes, pods=pods, namespaces=namespaces)
    asyncio.run(_serve(profile, Path(sys.argv[4])))


if __name__ == "__main__":
    main()
