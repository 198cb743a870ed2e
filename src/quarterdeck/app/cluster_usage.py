"""Load and capacity of the clusters a hub watches, read from the clusters themselves."""

import asyncio

import msgspec

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection
from quarterdeck.apis.core.config import Secret
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.hubstate.collect.cluster import ClusterCollector
from quarterdeck.hubstate.collect.collected import Collected, CollectionRequest
from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.clusters.credentials import (
    Limits,
    build_config,
    check_certificates,
    find_secret_key,
)
from quarterdeck.operators.clusters.failures import CredentialsUnavailable, describe
from quarterdeck.wire.status import ApiError, NotFound

_AT_ONCE = 16


class Usage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Load and capacity of one cluster, in cores and bytes."""

    name: str
    nodes: int = 0
    pods: int = 0
    cpu: float = 0.0
    memory: float = 0.0
    cpu_requested: float = 0.0
    memory_requested: float = 0.0
    cpu_used: float | None = None
    memory_used: float | None = None
    problem: str = ""


async def read_usage(hub: Client, namespace: str, *, timeout_s: float) -> list[Usage]:
    """Read every cluster, several at a time; one that does not answer has a problem instead."""
    connections = await hub.list(ClusterConnection, namespace)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def read(connection: ClusterConnection) -> Usage:
        name = connection.metadata.name
        async with gate:
            try:
                async with asyncio.timeout(timeout_s):
                    return summarize(name, await _collect(hub, connection, timeout_s))
            except (ApiError, ClientError, CredentialsUnavailable, TimeoutError) as error:
                return Usage(name=name, problem=describe(error, time_limit_s=timeout_s))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(each)) for each in connections]
    return sorted((task.result() for task in tasks), key=lambda each: each.name)


def summarize(name: str, collected: Collected) -> Usage:
    """Build the usage of a cluster from a reading."""
    nodes = collected.nodes
    measured = [each for each in nodes if isinstance(each.cpu_used, float)]
    return Usage(
        name=name,
        nodes=len(nodes),
        pods=collected.totals.pods,
        cpu=sum(each.cpu_allocatable for each in nodes),
        memory=float(sum(each.memory_allocatable for each in nodes)),
        cpu_requested=sum(each.cpu_requested for each in nodes),
        memory_requested=float(sum(each.memory_requested for each in nodes)),
        cpu_used=sum(float(each.cpu_used or 0) for each in measured) if measured else None,
        memory_used=sum(float(each.memory_used or 0) for each in measured) if measured else None,
    )


async def _collect(hub: Client, connection: ClusterConnection, timeout_s: float) -> Collected:
    key = find_secret_key(connection)
    assert key is not None
    try:
        secret = await hub.get(Secret, key.name, key.namespace)
    except NotFound:
        raise CredentialsUnavailable(f"Secret {key} not found") from None
    values = {name: secret.read(name) or b"" for name in (*secret.data, *secret.string_data)}
    config = build_config(
        connection, values, origin=f"Secret {key}", limits=Limits(timeout_s=timeout_s)
    )
    check_certificates(config, values, origin=f"Secret {key}")
    async with Client(config) as client:
        collector = ClusterCollector(client, clock=SystemClock())
        wanted = CollectionRequest(endpoint=config.server, limits=None, scans_operators=False)
        return await collector.collect(wanted)
