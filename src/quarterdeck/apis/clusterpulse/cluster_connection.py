"""ClusterConnection: a cluster the hub watches, its credentials and how often it is read."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.clusterpulse.group import (
    GROUP,
    MIN_INTERVAL_S,
    MIN_TIMEOUT_S,
    VERSION,
    SecretReference,
)
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Schema, Time
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.schema import Rule

CollectionMode = Literal["pull", "push"]

CLUSTER_PHASES = ("Connecting", "Connected", "Error")
HEALTH_VALUES = ("healthy", "degraded", "unhealthy", "unknown")

INGESTER_ADDRESS_FOR_PUSH = Rule(
    rule=(
        "!has(self.collectionMode) || self.collectionMode != 'push' || "
        "(has(self.ingesterAddress) && self.ingesterAddress != '')"
    ),
    message="ingesterAddress is required when collectionMode is push",
    field_path=".ingesterAddress",
)


class ClusterMonitoring(Struct, frozen=True, kw_only=True):
    """How often and how long a cluster is read."""

    interval: Annotated[Int32, Schema(minimum=MIN_INTERVAL_S)] | None = None
    """Seconds between two collections; RECONCILIATION_INTERVAL if left out."""
    timeout: Annotated[Int32, Schema(minimum=MIN_TIMEOUT_S)] | None = None
    """Seconds the connection test may take; CONNECT_TIMEOUT if left out."""


class ClusterConnectionSpec(Struct, frozen=True, kw_only=True):
    """How to reach a cluster."""

    display_name: str = ""
    """Name shown to people; the object's name if left out."""
    endpoint: Annotated[str, Schema(min_length=1)]
    """URL of the API server including the port."""
    credentials_ref: SecretReference
    """Secret with the key token and optionally ca.crt, or with the key kubeconfig; it is watched,
    so a rotation takes effect by itself."""
    labels: Mapping[str, str] = {}
    """Categories of the cluster; access policies select by them."""
    monitoring: ClusterMonitoring = ClusterMonitoring()
    """How often and how long the cluster is read."""
    collection_mode: Annotated[CollectionMode, Schema(default="pull")] = "pull"
    """Whether the hub reads the cluster or a collector on the cluster sends to the hub."""
    ingester_address: str = ""
    """Host and port of the hub's ingester as the cluster sees it; needed for push."""
    collector_version: str = ""
    """Image tag of the collector; the hub's own version if left out."""
    insecure_skip_tls_verify: bool = msgspec.field(name="insecureSkipTLSVerify", default=False)
    """Whether to accept any server certificate; needed when the Secret has no ca.crt and the
    system does not trust the server's certificate."""


class CollectorStatus(Struct, frozen=True, kw_only=True):
    """The collector of a cluster in push mode."""

    connected: bool = msgspec.field(default_factory=bool)
    """Whether the collector is connected now."""
    last_heartbeat: Time = ""
    """When it was last heard of."""
    version: str = ""
    """Version it reported."""
    image: str = ""
    """Image that the hub deployed; empty if the collector was deployed otherwise."""


class ClusterConnectionStatus(Struct, frozen=True, kw_only=True):
    """What is known about a cluster."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    phase: Annotated[str, Schema(enum=CLUSTER_PHASES)] = ""
    """Whether the cluster could be reached: Connecting, Connected or Error."""
    health: Annotated[str, Schema(enum=HEALTH_VALUES)] = ""
    """Health by nodes, operators and age of the data: healthy, degraded, unhealthy, unknown."""
    message: str = ""
    """Why the phase and health are what they are."""
    last_sync_time: Time = ""
    """When the cluster was last read completely."""
    nodes: Annotated[Int32, Schema(minimum=0)] = 0
    """Number of nodes."""
    namespaces: Annotated[Int32, Schema(minimum=0)] = 0
    """Number of namespaces."""
    version: str = ""
    """Version of the cluster."""
    collector_status: CollectorStatus | None = None
    """The collector, in push mode."""
    conditions: Conditions = ()
    """Ready, Reachable, NodesReady, OperatorsHealthy, DataFresh, TLSVerified, Stored and, in push
    mode, CollectorReady."""


class ClusterConnection(Object, frozen=True, kw_only=True):
    """A cluster that the hub watches."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="ClusterConnection",
        plural="clusterconnections",
        singular="clusterconnection",
        short_names=("cc",),
        columns=(
            Column(name="Display Name", path=".spec.displayName"),
            Column(name="Endpoint", path=".spec.endpoint"),
            Column(name="Status", path=".status.phase"),
            Column(name="Health", path=".status.health"),
            Column(name="Nodes", type="integer", path=".status.nodes", priority=1),
            Column(name="Version", path=".status.version", priority=1),
            Column(name="Message", path=".status.message", priority=1),
            AGE,
        ),
    )
    spec: Annotated[ClusterConnectionSpec, Schema(rules=(INGESTER_ADDRESS_FOR_PUSH,))]
    """How to reach the cluster."""
    status: ClusterConnectionStatus = ClusterConnectionStatus()
    """What is known about the cluster."""
