"""Reads and decodes the keys of the hub's store. Does not check access."""

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.kit import json

PARTS = ("spec", "info", "metrics", "status", "operators_summary")
"""The parts of each cluster that the list of clusters shows."""


class StoredCluster(msgspec.Struct, frozen=True):
    """The parts of one cluster as they stand in the store."""

    name: str
    parts: Mapping[str, bytes | None]

    def read(self, part: str) -> Any:
        """A part, decoded; None if it is absent or unreadable."""
        return decode(self.parts.get(part))


class HubReader:
    """Reads clusters, nodes, registries and events."""

    def __init__(self, state: StateReader) -> None:
        self.state = state

    async def list_clusters(self) -> list[str]:
        """List the names of all clusters."""
        return sorted(await self.state.get_members(keys.CLUSTERS))

    async def get_labels(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the labels of clusters, by name."""
        found = await self.state.get_many([keys.cluster(name, "labels") for name in names])
        return {name: decode_labels(data) for name, data in zip(names, found, strict=True)}

    async def get_cluster_labels(self, name: str) -> dict[str, str] | None:
        """Return the labels of a cluster; None if there is no such cluster in the store.

        A cluster has a status as long as it is in the set of all, which may be large.
        """
        wanted = [keys.cluster(name, part) for part in ("status", "labels")]
        status, labels = await self.state.get_many(wanted)
        return decode_labels(labels) if status is not None else None

    async def get_clusters(self, names: Sequence[str]) -> list[StoredCluster]:
        """Return the parts of several clusters, in one round trip."""
        wanted = [keys.cluster(name, part) for name in names for part in PARTS]
        found = iter(await self.state.get_many(wanted))
        return [StoredCluster(name, {part: next(found) for part in PARTS}) for name in names]

    async def get_part(self, name: str, part: str) -> Any:
        """Return one part of a cluster, decoded."""
        return decode(await self.state.get(keys.cluster(name, part)))

    async def get_rows(self, name: str, part: str) -> list[dict[str, Any]]:
        """Return a list of a cluster; empty if it is absent."""
        found = await self.get_part(name, part)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    async def list_namespaces(self, name: str) -> list[str]:
        """List the namespaces of a cluster, sorted."""
        return sorted(await self.state.get_members(keys.cluster(name, "namespaces:set")))

    async def get_node(self, cluster: str, node: str) -> dict[str, Any] | None:
        """Return the facts of a node; None if there is no such node in the store."""
        found = decode((await self.state.get_fields(keys.node(cluster, node))).get("current"))
        return found if isinstance(found, dict) else None

    async def list_nodes(self, cluster: str) -> list[dict[str, Any]]:
        """List the nodes of a cluster, by name."""
        names = sorted(await self.state.get_members(keys.cluster(cluster, "nodes")))
        found = await asyncio.gather(*(self.get_node(cluster, name) for name in names))
        return [each for each in found if each is not None]

    async def get_node_points(self, cluster: str, node: str, limit: int) -> list[Any]:
        """Return the newest points of a node, oldest first."""
        found = await self.state.get_scored_members(keys.node(cluster, node, "metrics"))
        return [decode(member) for member, _ in found[-limit:]]

    async def get_node_conditions(self, cluster: str, node: str) -> dict[str, Any]:
        """Return the conditions of a node by type."""
        found = await self.state.get_fields(keys.node(cluster, node, "conditions"))
        return {type_: decode(text) for type_, text in found.items()}

    async def list_events(self, name: str, limit: int) -> list[Any]:
        """List the events of a cluster or registry, newest first."""
        return [decode(each) for each in await self.state.get_items(keys.events(name), limit=limit)]

    async def list_alert_keys(self, cluster: str = "") -> dict[str, list[str]]:
        """List the keys of alerts that other programs store, by cluster; of all without a name.

        Redis looks at every key that it has for this, so it must not be asked for each cluster.
        """
        found: dict[str, list[str]] = {}
        for key in await self.state.list_keys(f"alerts:{cluster}:" if cluster else "alerts:"):
            _, name, *rest = key.split(":", 2)
            if rest:
                found.setdefault(name, []).append(key)
        return found

    async def get_alerts(self, names: Sequence[str]) -> list[dict[str, str]]:
        """Return the alerts of keys."""
        return [dict(await self.state.get_fields(key)) for key in names]

    async def list_registries(self) -> list[dict[str, Any]]:
        """List the registries with spec and status, by name."""
        names = sorted(await self.state.get_members(keys.REGISTRIES))
        parts = [keys.registry(name, part) for name in names for part in ("spec", "status")]
        found = iter(await self.state.get_many(parts))
        return [
            {"name": name, "spec": decode(next(found)), "status": decode(next(found))}
            for name in names
        ]


def decode(data: bytes | str | None) -> Any:
    """Decode JSON; None if it is absent or invalid."""
    if data is None:
        return None
    try:
        return json.decode(data)
    except json.JsonError:
        return None


def decode_labels(data: bytes | None) -> dict[str, str]:
    """Labels as texts; empty for anything else."""
    return _decode_labels(data) if data else {}


@functools.lru_cache(maxsize=4096)
def _decode_labels(data: bytes) -> dict[str, str]:
    """Cached, because every list reads all labels, and many clusters have the same ones."""
    found = decode(data)
    if not isinstance(found, dict):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str)}
