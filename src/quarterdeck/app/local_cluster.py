"""The first cluster of a hub in `up`: the embedded server itself; and the default MetricSources."""

import contextlib
from typing import Any

from quarterdeck.app import cluster_samples, definitions
from quarterdeck.app.connection_manifests import build_connection
from quarterdeck.app.host import Host
from quarterdeck.app.inline_kubeconfig import encode_config
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.interfaces import Api
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.status import AlreadyExists

LOCAL = "local"


async def add_local(host: Host) -> None:
    """Connect the hub to the embedded server, and create the default MetricSources."""
    if host.local is not None:
        await connect(host.admin.raw, LOCAL, host.local, displayName="This machine")
    for source in cluster_samples.DEFAULT_METRIC_SOURCES:
        await _create(host.admin.raw, dict(source))


async def connect(api: Api, name: str, config: ClusterConfig, **spec: Any) -> None:
    """Create the Secret and the ClusterConnection of a cluster."""
    secret, connection = build_connection(
        name, config.server, {"kubeconfig": encode_config(config).decode()}, **spec
    )
    await definitions.apply(api, [secret, connection])


async def _create(api: Api, document: dict[str, Any]) -> None:
    """Create an object unless it exists, so that changes of users are kept."""
    found = await api.discover_resource(GVK.of(document["apiVersion"], document["kind"]))
    path = ResourcePath(*found.gvr, document["metadata"]["namespace"])
    with contextlib.suppress(AlreadyExists):
        await api.create(path, json.encode(document))
