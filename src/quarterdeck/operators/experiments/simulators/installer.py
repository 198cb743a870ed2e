"""Applies what simulated Applications install, on real API servers."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import structs

from quarterdeck.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.meta import names
from quarterdeck.operators.experiments.drivers.targets import to_config
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import DeleteOptions, PatchOptions
from quarterdeck.wire.status import ApiError, NotFound, Unauthorized

_MANAGER = "argocd-controller"
_TIMEOUT_S = 120.0
"""Long, because simulated clusters share the operator's host and may just be slow."""
_PLURALS = {"Deployment": ("apps", "deployments"), "Service": ("", "services")}


class Installer:
    """Installs on the hub, by its client, or on targets, by their credentials."""

    def __init__(self, hub: Client, *, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock

    async def install(
        self, connection: Connection | str, app: str, spec: Mapping[str, Any]
    ) -> list[dict[str, str]]:
        """Apply the namespace and one workload per source; returns the installed objects.

        Raises:
            TargetRefused, TargetUnreachable: as the operator itself would.
        """
        namespace = spec["destination"]["namespace"]
        labels = ((spec.get("syncPolicy") or {}).get("managedNamespaceMetadata") or {}).get(
            "labels"
        )
        async with self._open(connection) as client:
            path = ResourcePath("", "v1", "namespaces", "", namespace)
            metadata = {"name": namespace, "labels": labels or {}}
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            await _apply(client, path, body)
            found = []
            for document in build_manifests(spec):
                await _apply(client, _build_path(document, namespace), document)
                found.append(_describe_resource(document, namespace))
            return found

    async def uninstall(self, connection: Connection | str, spec: Mapping[str, Any]) -> None:
        """Delete the workloads; the namespace may hold those of others."""
        namespace = spec["destination"]["namespace"]
        async with self._open(connection) as client:
            for document in build_manifests(spec):
                with contextlib.suppress(NotFound):
                    options = DeleteOptions(propagation_policy="Background")
                    await client.raw.delete(_build_path(document, namespace), options)

    @contextlib.asynccontextmanager
    async def _open(self, connection: Connection | str) -> AsyncIterator[Client]:
        try:
            if isinstance(connection, str):
                yield self._hub
                return
            config = structs.replace(to_config(connection), timeout_s=_TIMEOUT_S)
            async with Client(config, clock=self._clock) as client:
                yield client
        except Unauthorized as error:
            raise TargetRefused(error.message) from error
        except (ApiError, ClientError, OSError) as error:
            raise TargetUnreachable(str(error)) from error


def build_manifests(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A Deployment and a Service for each source that is rendered."""
    found: list[dict[str, Any]] = []
    for source in spec.get("sources") or ():
        if source.get("ref") and not source.get("path"):
            continue
        name = _name(source)
        labels = {"app.kubernetes.io/name": name}
        container = {"name": "main", "image": f"simulated/{name}:1"}
        found.append(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [container]},
                    },
                },
            }
        )
        found.append(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name},
                "spec": {"selector": labels, "ports": [{"name": "http", "port": 80}]},
            }
        )
    return found


def _name(source: Mapping[str, Any]) -> str:
    helm = source.get("helm") or {}
    given = helm.get("releaseName") or source.get("chart") or source.get("path") or "app"
    name = str(given).rstrip("/").rpartition("/")[2].lower()
    return name if not names.check_dns1035_label(name) else "app"


def _build_path(document: Mapping[str, Any], namespace: str) -> ResourcePath:
    group, plural = _PLURALS[document["kind"]]
    return ResourcePath(group, "v1", plural, namespace, document["metadata"]["name"])


def _describe_resource(document: Mapping[str, Any], namespace: str) -> dict[str, str]:
    group, _ = _PLURALS[document["kind"]]
    found = {
        "version": "v1",
        "kind": document["kind"],
        "namespace": namespace,
        "name": document["metadata"]["name"],
        "status": "Synced",
    }
    return {"group": group, **found} if group else found


async def _apply(client: Client, path: ResourcePath, document: Mapping[str, Any]) -> None:
    options = PatchOptions(field_manager=_MANAGER, force=True)
    await client.raw.patch(path, json.encode(document), PatchType.APPLY, options)
