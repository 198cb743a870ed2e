"""The input and the output of a collection from a cluster."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.resources import Limits, ResourceLists


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
