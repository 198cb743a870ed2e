"""The messages of `clusterpulse.collector.v1` as types.

`sequence`, `agent_id` and chunks make a batch resumable, `*_json` carries what the first fields
cannot (groups and nulls of aggregations, short lists of resources). `descriptors` has the numbers
of their fields.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import NodeFacts
from quarterdeck.inventory.operators import OperatorFacts


class RegisterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The first message of a collector: its cluster and its token."""

    cluster_name: str = ""
    token: str = ""
    version: str = ""
    agent_id: str = ""
    """Identifies one run of a collector; sequence numbers start again with each run."""


class ClusterMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of the cluster, and the names of its namespaces."""

    nodes: int = 0
    nodes_ready: int = 0
    namespaces: int = 0
    namespace_list: tuple[str, ...] = ()
    pods: int = 0
    pods_running: int = 0
    cpu_capacity: float = 0.0
    memory_capacity: int = 0
    deployments: int = 0


class CustomCollectedResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One object of a MetricSource."""

    id: str = ""
    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = {}
    values_json: bytes = b""


class CustomResourceBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one MetricSource collected, or why it could not."""

    source_id: str = ""
    resource_count: int = 0
    truncated: bool = False
    duration_ms: int = 0
    resources: tuple[CustomCollectedResource, ...] = ()
    aggregation_values: Mapping[str, float] = {}
    aggregations_json: bytes = b""
    """All aggregations, with groups and nulls; wins over `aggregation_values`."""
    errors: tuple[str, ...] = ()
    """Namespaces that could not be read."""
    failure: str = ""
    """Why nothing could be read; then there are no rows."""


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Version and addresses."""

    api_url: str = ""
    version: str = ""
    platform: str = ""
    console_url: str = ""
    channel: str = ""
    cluster_id: str = ""
    details_json: bytes = b""


class MetricsBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle of a collector, or a part of one."""

    cluster_name: str = ""
    batch_id: str = ""
    collected_at: datetime | None = None
    cluster_metrics: ClusterMetrics | None = None
    node_metrics: tuple[NodeFacts, ...] = ()
    custom_resources: tuple[CustomResourceBatch, ...] = ()
    operators: tuple[OperatorFacts, ...] = ()
    cluster_operators: tuple[ClusterOperatorFacts, ...] = ()
    cluster_info: ClusterInfo | None = None
    sequence: int = 0
    """Counts up from 1 in one run of a collector; 0 means that batches are not numbered."""
    chunk_index: int = 0
    chunk_count: int = 0
    agent_id: str = ""
    resources_json: bytes = b""
    parts: tuple[str, ...] = ()
    """Which lists were read, so that an empty one differs from one that was not read."""


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    """A heartbeat."""

    cluster_name: str = ""
    timestamp: datetime | None = None
    uptime_seconds: int = 0
    buffered_batches: int = 0
    last_collection_duration_ms: int = 0
    dropped_batches: int = 0


class ConnectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a collector: exactly one field is set."""

    metrics: MetricsBatch | None = None
    health: HealthReport | None = None
    register: RegisterRequest | None = None


class ConfigUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """The whole set of MetricSources; replaces what was sent before."""

    metric_sources_json: tuple[bytes, ...] = ()
    default_interval_seconds: int = 0


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a batch."""

    batch_id: str = ""
    success: bool = False
    error: str = ""
    is_permanent: bool = False
    """The batch can never be stored: sending it again is useless."""


class ConnectResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the hub: exactly one field is set."""

    config: ConfigUpdate | None = None
    ack: Ack | None = None
