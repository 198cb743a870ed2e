"""RegistryConnection: an image registry the hub checks."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import HEALTH_VALUES
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

REGISTRY_PHASES = ("Connecting", "Connected", "Error", "Unknown")
HEALTH_CHECK_PATHS = ("/v2/",)


class RegistryMonitoring(Struct, frozen=True, kw_only=True):
    """How often a registry is checked, and how deeply."""

    interval: Annotated[Int32, Schema(default=60, minimum=MIN_INTERVAL_S)] = 60
    """Seconds between two checks."""
    timeout: Annotated[Int32, Schema(default=10, minimum=MIN_TIMEOUT_S)] = 10
    """Seconds one check may take."""
    check_catalog: bool = False
    """Whether to list the repositories."""
    max_catalog_entries: Annotated[Int32, Schema(default=100, minimum=0)] = 100
    """How many repositories are read at most; 0 means 100."""


class RegistryConnectionSpec(Struct, frozen=True, kw_only=True):
    """How to reach a registry."""

    display_name: str = ""
    """Name shown to people; the object's name if left out."""
    endpoint: Annotated[str, Schema(min_length=1)]
    """Address of the registry; https:// is assumed if it has no scheme."""
    type: str = ""
    """Product, for people: dockerhub, harbor, ecr, gcr, artifactory, quay and so on."""
    credentials_ref: SecretReference | None = None
    """Secret with the keys username and password."""
    insecure: bool = False
    """Whether to use plain HTTP when the endpoint has no scheme."""
    skip_tls_verify: bool = msgspec.field(name="skipTLSVerify", default=False)
    """Whether to accept any server certificate."""
    monitoring: Annotated[RegistryMonitoring, Schema(default={})] = RegistryMonitoring()
    """How often the registry is checked, and how deeply."""
    labels: Mapping[str, str] = {}
    """Categories of the registry."""
    health_check_paths: Annotated[
        tuple[str, ...],
        Schema(default=list(HEALTH_CHECK_PATHS), list_type="atomic", items=Schema(min_length=1)),
    ] = HEALTH_CHECK_PATHS
    """Paths to ask; the first one that answers decides."""


class RegistryConnectionStatus(Struct, frozen=True, kw_only=True):
    """What is known about a registry."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    phase: Annotated[str, Schema(enum=REGISTRY_PHASES)] = ""
    """Whether the registry could be reached: Connecting, Connected, Error or Unknown."""
    health: Annotated[str, Schema(enum=HEALTH_VALUES)] = ""
    """Health: healthy, degraded, unhealthy or unknown."""
    available: bool = msgspec.field(default_factory=bool)
    """Whether the registry answers."""
    last_check_time: Time = ""
    """When it was last checked; up to five minutes behind while nothing changes."""
    response_time: Annotated[Int64, Schema(minimum=0)] = 0
    """Milliseconds until the answer began."""
    message: str = ""
    """Why the phase and health are what they are."""
    repository_count: Annotated[Int32, Schema(minimum=0)] = 0
    """Number of repositories, if the catalog is read."""
    version: str = ""
    """API version the registry reports."""
    features: Mapping[str, bool] = {}
    """What the registry was seen to offer."""
    conditions: Conditions = ()
    """Ready: the registry answers and accepts the credentials."""


class RegistryConnection(Object, frozen=True, kw_only=True):
    """An image registry that the hub checks."""

    KIND = KindInfo(
        group=GROUP,
        version=VERSION,
        kind="RegistryConnection",
        plural="registryconnections",
        singular="registryconnection",
        short_names=("rc", "regcon"),
        columns=(
            Column(name="Display Name", path=".spec.displayName"),
            Column(name="Endpoint", path=".spec.endpoint"),
            Column(name="Type", path=".spec.type"),
            Column(name="Available", type="boolean", path=".status.available"),
            Column(name="Health", path=".status.health"),
            Column(name="Response Time", type="integer", path=".status.responseTime"),
            Column(name="Message", path=".status.message", priority=1),
            AGE,
        ),
    )
    spec: RegistryConnectionSpec
    """How to reach the registry."""
    status: RegistryConnectionStatus = RegistryConnectionStatus()
    """What is known about the registry."""
