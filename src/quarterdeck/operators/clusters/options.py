"""Options of the hub: intervals, lifetimes, limits, thresholds and collectors."""

from collections.abc import Callable

import msgspec

from quarterdeck.engine.namespaces import compile_wildcard
from quarterdeck.hubstate.lifetimes import Lifetimes
from quarterdeck.inventory.health import Thresholds
from quarterdeck.inventory.resources import Limits
from quarterdeck.meta.identity import Key


class CollectorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the hub deploys collectors on clusters in push mode."""

    image: str = ""
    """COLLECTOR_IMAGE; empty deploys nothing."""
    tls: bool = True
    """INGESTER_TLS_ENABLED."""
    server_name: str = ""
    """Name in the ingester's certificate; empty means the host of `spec.ingesterAddress`."""
    authority: str = ""
    """CA certificates in PEM that collectors trust; empty means those of `authority_map`."""
    authority_map: Key | None = None
    """COLLECTOR_CA_CONFIGMAP on the hub; None means the system's store of the collector."""
    authority_key: str = "service-ca.crt"
    """COLLECTOR_CA_KEY."""
    client_secret: str = ""
    """Secret with tls.crt and tls.key on the managed cluster, for an ingester that asks collectors
    for a certificate."""


class HubOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that are the same for all clusters."""

    interval_s: int = 30
    """RECONCILIATION_INTERVAL: interval of clusters without spec.monitoring.interval."""
    scan_interval_s: int = 300
    """OPERATOR_SCAN_INTERVAL: how often OLM's operators are read."""
    connect_timeout_s: int = 10
    """CONNECT_TIMEOUT: how long the connection test may take."""
    collect_timeout_s: int = 60
    """How long reading one cluster may take in all."""
    lifetimes: Lifetimes = Lifetimes()
    thresholds: Thresholds = Thresholds()
    limits: Limits | None = Limits()
    """None switches the short lists off: RESOURCE_COLLECTION_ENABLED=false."""
    namespace_filter: str = ""
    """RESOURCE_NAMESPACE_FILTER: names or wildcards; `!name` leaves out."""
    policy_interval_s: int = 300
    """POLICY_VALIDATION_INTERVAL: how often the state of each policy is computed again."""
    workers: int = 64
    """Clusters read at the same time."""
    source_workers: int = 32
    """Clusters that one MetricSource reads at the same time."""
    requests_per_s: float = 100.0
    burst: int = 200
    collector: CollectorOptions = CollectorOptions()


def build_namespace_predicate(text: str) -> Callable[[str], bool] | None:
    """Build the test whether the short lists include a namespace; None if they include all."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        return None
    dropped = [compile_wildcard(part[1:]) for part in parts if part.startswith("!")]
    kept = [compile_wildcard(part) for part in parts if not part.startswith("!")]

    def keeps(namespace: str) -> bool:
        if any(pattern.fullmatch(namespace) for pattern in dropped):
            return False
        return not kept or any(pattern.fullmatch(namespace) for pattern in kept)

    return keeps
