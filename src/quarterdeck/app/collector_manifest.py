"""`quarterdeck clusters join`: a token for a collector, and the manifest that runs it.

The hub gets the token's hash as an annotation of the ClusterConnection; the token itself is only
in the printed manifest.
"""

import secrets
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection, MetricSource
from quarterdeck.client.client import Client
from quarterdeck.hubstate.push.tokens import PREFIX, hash_token
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.clusters.collector import TOKEN_HASH
from quarterdeck.operators.clusters.collector_objects import (
    CollectorPlan,
    build_objects,
    find_resources,
)


class JoinOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `quarterdeck clusters join`."""

    name: str
    namespace: str
    image: str
    ingester_address: str = ""
    """Empty means the one of the ClusterConnection."""
    authority: str = ""
    server_name: str = ""
    client_secret: str = ""
    """Secret on the cluster with the collector's certificate, where the ingester asks for one."""


async def join(hub: Client, wanted: JoinOptions) -> list[dict[str, Any]]:
    """Issue a token, store its hash on the hub, and build the objects of the collector.

    A token that was issued before is refused as soon as the hub has seen the new one.

    Raises:
        ApiError, ClientError: if the hub refuses, or there is no such ClusterConnection.
    """
    connection = await hub.get(ClusterConnection, wanted.name, wanted.namespace)
    token = PREFIX + secrets.token_urlsafe(32)
    address = wanted.ingester_address or connection.spec.ingester_address
    sources = await hub.list(MetricSource)
    patch = {
        "metadata": {"annotations": {TOKEN_HASH: hash_token(wanted.name, token)}},
        "spec": {"collectionMode": "push", "ingesterAddress": address},
    }
    await hub.resource(ClusterConnection.KIND.gvr).patch(
        wanted.name, patch, namespace=wanted.namespace
    )
    return build_objects(
        CollectorPlan(
            cluster=wanted.name,
            image=wanted.image,
            ingester_address=address,
            token=Secret(token),
            authority=wanted.authority,
            server_name=wanted.server_name,
            client_secret=wanted.client_secret,
            sources=tuple(find_resources(sources)),
        )
    )
