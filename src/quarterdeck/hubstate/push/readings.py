"""Reads what a collector pushed from the store, in the form of the hub's own readings."""

import asyncio

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.collect.collected import Collected
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.kit import rfc3339


async def read_pushed(state: StateReader, cluster: str) -> Collected | None:
    """The newest reading; None if there is none, or it cannot be decoded.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    wanted = [keys.cluster(cluster, part) for part in ("metrics", "info", "cluster_operators")]
    metrics, info, operators = await state.get_many(wanted)
    if metrics is None:
        return None
    names = sorted(await state.get_members(keys.cluster(cluster, "nodes")))
    found = await asyncio.gather(*(state.get_fields(keys.node(cluster, name)) for name in names))
    namespaces = await state.get_members(keys.cluster(cluster, "namespaces:set"))
    try:
        totals = msgspec.json.decode(metrics, type=ClusterTotals)
        return Collected(
            at=rfc3339.parse(totals.timestamp),
            nodes=tuple(
                msgspec.json.decode(each["current"], type=NodeFacts)
                for each in found
                if "current" in each
            ),
            totals=totals,
            info=msgspec.json.decode(info) if info else {},
            namespaces=tuple(sorted(namespaces)),
            resources=None,
            operators=None,
            cluster_operators=(
                msgspec.json.decode(operators, type=tuple[ClusterOperatorFacts, ...])
                if operators
                else None
            ),
            problems={},
        )
    except (msgspec.DecodeError, ValueError):
        return None
