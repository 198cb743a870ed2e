"""The input and the output of a collection from a cluster."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.inventory.cluster import OPENSHIFT, ClusterTotals
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.resources import Limits, ResourceLists

_VERSION, _CLUSTER_VERSION, _CONSOLE = "version", "cluster version", "console"
"""Names in `problems` of the requests that `info` is made of."""


class CollectionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to read from a cluster."""

    endpoint: str
    limits: Limits | None = Limits()
    """None leaves the short lists out."""
    keeps_namespace: Callable[[str], bool] | None = None
    """Whether the short lists include a namespace; None means all."""
    scans_operators: bool = True
    """Whether to read OLM's operators, and to look for APIs that were absent before."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What was read; a part that could not be read is None and named in `problems`."""

    at: datetime
    nodes: tuple[NodeFacts, ...]
    totals: ClusterTotals
    info: Mapping[str, Any]
    namespaces: tuple[str, ...] | None
    resources: ResourceLists | None
    operators: tuple[OperatorFacts, ...] | None
    cluster_operators: tuple[ClusterOperatorFacts, ...] | None
    problems: Mapping[str, str]


def fill_unread(found: Collected, before: Collected) -> Collected:
    """Fill parts that could not be read, or were not asked for, with those of the last reading.

    Otherwise a request that fails once would look as if a cluster had no operators or namespaces.
    """
    operators, cluster_operators = found.operators, found.cluster_operators
    return msgspec.structs.replace(
        found,
        totals=_fill_totals(found, before),
        info=_fill_info(found, before),
        namespaces=before.namespaces if found.namespaces is None else found.namespaces,
        resources=_fill_lists(found, before),
        operators=before.operators if operators is None else operators,
        cluster_operators=(
            before.cluster_operators if cluster_operators is None else cluster_operators
        ),
    )


def _fill_totals(found: Collected, before: Collected) -> ClusterTotals:
    totals = found.totals
    if found.namespaces is None:
        totals = msgspec.structs.replace(totals, namespaces=before.totals.namespaces)
    if "resources" in found.problems:
        totals = msgspec.structs.replace(totals, deployments=before.totals.deployments)
    return totals


def _fill_info(found: Collected, before: Collected) -> Mapping[str, Any]:
    """Fill the facts of failed requests only: others may be of a version that is new."""
    info, problems = found.info, found.problems
    is_version_known = _VERSION not in problems or info.get("platform") == OPENSHIFT
    if _CLUSTER_VERSION in problems or not is_version_known:
        return {**info, **before.info, "api_url": info.get("api_url", "")}
    if _CONSOLE in problems and "console_url" in before.info:
        return {**info, "console_url": before.info["console_url"]}
    return info


def _fill_lists(found: Collected, before: Collected) -> ResourceLists | None:
    if found.resources is None or before.resources is None:
        return found.resources
    failed = found.problems.keys() & set(ResourceLists.__struct_fields__)
    lists = {kind: getattr(before.resources, kind) for kind in failed}
    return msgspec.structs.replace(found.resources, **lists)
