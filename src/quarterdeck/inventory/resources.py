"""Short lists of resources of a cluster, within limits; `truncated` marks lists that were cut."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from quarterdeck.inventory.forms import ConfigMap, DaemonSet, Ingress, Pod, Service, Workload

FINISHED = ("Succeeded", "Failed")
_Labels = Mapping[str, str] | msgspec.UnsetType
_Text = str | msgspec.UnsetType


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the short lists of one cluster."""

    pods_per_namespace: int = 100
    pods: int = 1000
    deployments: int = 500
    services: int = 500
    stateful_sets: int = 500
    daemon_sets: int = 100
    config_maps: int = 500
    ingresses: int = 500
    with_labels: bool = False


class PodSummary(msgspec.Struct, frozen=True):
    """A pod that is not finished."""

    name: str
    namespace: str
    status: str
    node: _Text = msgspec.UNSET
    labels: _Labels = msgspec.UNSET


class WorkloadSummary(msgspec.Struct, frozen=True):
    """A Deployment or StatefulSet."""

    name: str
    namespace: str
    replicas: int
    ready: int
    labels: _Labels = msgspec.UNSET


class ServiceSummary(msgspec.Struct, frozen=True):
    """A Service."""

    name: str
    namespace: str
    type: str
    cluster_ip: _Text = msgspec.UNSET


class DaemonSetSummary(msgspec.Struct, frozen=True):
    """A DaemonSet."""

    name: str
    namespace: str
    desired: int
    current: int
    ready: int


class ConfigMapSummary(msgspec.Struct, frozen=True):
    """A ConfigMap: how many keys it has, not what is in them."""

    name: str
    namespace: str
    data_count: int


class IngressSummary(msgspec.Struct, frozen=True):
    """An Ingress."""

    name: str
    namespace: str
    hosts: tuple[str, ...]
    tls_hosts: tuple[str, ...]
    created_at: str


class ResourceLists(msgspec.Struct, frozen=True, kw_only=True):
    """The short lists of one cluster."""

    pods: tuple[PodSummary, ...] = ()
    deployments: tuple[WorkloadSummary, ...] = ()
    services: tuple[ServiceSummary, ...] = ()
    statefulsets: tuple[WorkloadSummary, ...] = ()
    daemonsets: tuple[DaemonSetSummary, ...] = ()
    configmaps: tuple[ConfigMapSummary, ...] = ()
    ingresses: tuple[IngressSummary, ...] = ()
    truncated: bool = False
    collection_time_ms: int = 0


class PodSelection:
    """Selects streamed pods up to the limits per namespace and per cluster."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: list[PodSummary] = []
        self._by_namespace: Counter[str] = Counter()
        self.is_truncated = False

    def add(self, pod: Pod) -> None:
        """Keep a pod, unless it is finished or a limit is reached."""
        if pod.status.phase in FINISHED:
            return
        namespace = pod.metadata.namespace
        has_room = len(self._kept) < self._limits.pods
        if not has_room or self._by_namespace[namespace] >= self._limits.pods_per_namespace:
            self.is_truncated = True
            return
        self._by_namespace[namespace] += 1
        labels = pod.metadata.labels if self._limits.with_labels else None
        self._kept.append(
            PodSummary(
                pod.metadata.name,
                namespace,
                pod.status.phase,
                pod.spec.node_name or msgspec.UNSET,
                labels or msgspec.UNSET,
            )
        )

    @property
    def kept(self) -> tuple[PodSummary, ...]:
        """The pods that were kept."""
        return tuple(self._kept)


def summarize_workload(each: Workload, *, with_labels: bool = False) -> WorkloadSummary:
    """Summarize a Deployment or StatefulSet; replicas default to 1."""
    labels = each.metadata.labels if with_labels else None
    wanted = 1 if each.spec.replicas is None else each.spec.replicas
    return WorkloadSummary(
        each.metadata.name,
        each.metadata.namespace,
        wanted,
        each.status.ready_replicas,
        labels or msgspec.UNSET,
    )


def summarize_service(each: Service) -> ServiceSummary:
    """A Service."""
    spec = each.spec
    return ServiceSummary(
        each.metadata.name, each.metadata.namespace, spec.type, spec.cluster_ip or msgspec.UNSET
    )


def summarize_daemon_set(each: DaemonSet) -> DaemonSetSummary:
    """A DaemonSet."""
    status = each.status
    return DaemonSetSummary(
        each.metadata.name,
        each.metadata.namespace,
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_ready,
    )


def summarize_config_map(each: ConfigMap) -> ConfigMapSummary:
    """A ConfigMap."""
    count = len(each.data or ()) + len(each.binary_data or ())
    return ConfigMapSummary(each.metadata.name, each.metadata.namespace, count)


def summarize_ingress(each: Ingress) -> IngressSummary:
    """An Ingress."""
    hosts = (rule.host for rule in each.spec.rules or ())
    secured = (host for tls in each.spec.tls or () for host in tls.hosts or ())
    return IngressSummary(
        each.metadata.name,
        each.metadata.namespace,
        tuple(dict.fromkeys(filter(None, hosts))),
        tuple(dict.fromkeys(secured)),
        each.metadata.creation_timestamp or "",
    )
