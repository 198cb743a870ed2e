"""Nodes: their capacity, what pods request on them, and their status.

`cpu_usage_percent` and `memory_usage_percent` are shares of what is *requested*, as readers of the
store expect; `cpu_used` and `memory_used` are set if the cluster serves metrics.k8s.io.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from quarterdeck.inventory.amounts import compute_percent, parse_cores, parse_whole
from quarterdeck.inventory.forms import Container, Node, NodeUsage, Pod

ROLE_PREFIX = "node-role.kubernetes.io/"
READY = "Ready"
NOT_READY = "NotReady"
UNKNOWN = "Unknown"
CORDONED = "SchedulingDisabled"
_COUNTED = ("Running", "Pending")
_ALWAYS = "Always"


class NodeCondition(msgspec.Struct, frozen=True):
    """One condition of a node."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str | None


class NodeTaint(msgspec.Struct, frozen=True):
    """One taint of a node."""

    key: str
    value: str
    effect: str


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One node, in the shape of `cluster:{c}:node:{n}` field `current`."""

    name: str
    timestamp: str
    status: str
    roles: tuple[str, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    cpu_capacity: float = 0.0
    memory_capacity: int = 0
    storage_capacity: int = 0
    pods_capacity: int = 0
    cpu_allocatable: float = 0.0
    memory_allocatable: int = 0
    storage_allocatable: int = 0
    pods_allocatable: int = 0
    cpu_requested: float = 0.0
    memory_requested: int = 0
    cpu_usage_percent: float = 0.0
    memory_usage_percent: float = 0.0
    pods_running: int = 0
    pods_pending: int = 0
    pods_failed: int = 0
    pods_succeeded: int = 0
    pods_total: int = 0
    kernel_version: str = ""
    os_image: str = ""
    container_runtime: str = ""
    kubelet_version: str = ""
    architecture: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    internal_ip: str = ""
    external_ip: str = ""
    hostname: str = ""
    images_count: int = 0
    volumes_attached: int = 0
    cpu_used: float | msgspec.UnsetType = msgspec.UNSET
    memory_used: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_ready(self) -> bool:
        """Whether the kubelet reports the node as ready; a cordoned node may be ready, too."""
        if self.conditions:
            return any(each.type == READY and each.status == "True" for each in self.conditions)
        return self.status == READY


class NodesSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes of a cluster, in the shape of `cluster:{c}:nodes:summary`."""

    total: int
    ready: int
    not_ready: int
    scheduling_disabled: int
    by_role: Mapping[str, int]
    total_cpu_capacity: float
    total_memory_capacity: int
    avg_cpu_usage: float
    avg_memory_usage: float
    timestamp: str


class PodTally:
    """Counts streamed pods by node: their phases, and what they request."""

    def __init__(self) -> None:
        self.total = 0
        self.running = 0
        self._phases: dict[str, Counter[str]] = {}
        self._cpu: Counter[str] = Counter()
        self._memory: Counter[str] = Counter()

    def add(self, pod: Pod) -> None:
        """Count one pod."""
        phase, node = pod.status.phase, pod.spec.node_name
        self.total += 1
        self.running += phase == "Running"
        if not node:
            return
        self._phases.setdefault(node, Counter())[phase] += 1
        if phase in _COUNTED:
            cpu, memory = compute_requests(pod)
            self._cpu[node] += cpu  # type: ignore[assignment]  # a Counter sums floats as well
            self._memory[node] += memory

    def phases(self, node: str) -> Mapping[str, int]:
        """The number of pods on a node by phase."""
        return self._phases.get(node, Counter())

    def requested(self, node: str) -> tuple[float, int]:
        """Cores and bytes that the pods on a node request."""
        return float(self._cpu[node]), self._memory[node]


def compute_requests(pod: Pod) -> tuple[float, int]:
    """Cores and bytes a pod is scheduled by, as the scheduler and `kubectl describe` compute it.

    Regular containers and sidecars together, or the largest init container with the sidecars
    started before it, whichever is more; and the overhead of its runtime class.
    """
    if not pod.spec.init_containers and not pod.spec.overhead:
        return _sum(pod.spec.containers)
    cpu, memory = _sum(pod.spec.containers)
    sidecar_cpu, sidecar_memory, init_cpu, init_memory = 0.0, 0, 0.0, 0
    for each in pod.spec.init_containers or ():
        own_cpu, own_memory = _sum((each,))
        if each.restart_policy == _ALWAYS:
            sidecar_cpu, sidecar_memory = sidecar_cpu + own_cpu, sidecar_memory + own_memory
            own_cpu = own_memory = 0
        init_cpu = max(init_cpu, own_cpu + sidecar_cpu)
        init_memory = max(init_memory, own_memory + sidecar_memory)
    overhead = pod.spec.overhead or {}
    return (
        max(cpu + sidecar_cpu, init_cpu) + parse_cores(overhead.get("cpu")),
        max(memory + sidecar_memory, init_memory) + parse_whole(overhead.get("memory")),
    )


def _sum(containers: Iterable[Container]) -> tuple[float, int]:
    cpu, memory = 0.0, 0
    for each in containers:
        if requests := each.resources.requests:
            cpu += parse_cores(requests.get("cpu"))
            memory += parse_whole(requests.get("memory"))
    return cpu, memory


def read_node(
    node: Node, tally: PodTally, *, now: str, usage: NodeUsage | None = None
) -> NodeFacts:
    """Build the facts of one node."""
    capacity, allocatable = node.status.capacity or {}, node.status.allocatable or {}
    cpu, memory = tally.requested(node.metadata.name)
    phases = tally.phases(node.metadata.name)
    info, addresses = node.status.node_info, _map_addresses(node)
    cpu_allocatable, memory_allocatable = (
        parse_cores(allocatable.get("cpu")),
        parse_whole(allocatable.get("memory")),
    )
    return NodeFacts(
        name=node.metadata.name,
        timestamp=now,
        status=describe_status(node),
        roles=_find_roles(node),
        conditions=tuple(
            NodeCondition(c.type, c.status, c.reason, c.message, c.last_transition_time)
            for c in node.status.conditions or ()
        ),
        cpu_capacity=parse_cores(capacity.get("cpu")),
        memory_capacity=parse_whole(capacity.get("memory")),
        storage_capacity=parse_whole(capacity.get("ephemeral-storage")),
        pods_capacity=parse_whole(capacity.get("pods")),
        cpu_allocatable=cpu_allocatable,
        memory_allocatable=memory_allocatable,
        storage_allocatable=parse_whole(allocatable.get("ephemeral-storage")),
        pods_allocatable=parse_whole(allocatable.get("pods")),
        cpu_requested=round(cpu, 9),
        memory_requested=memory,
        cpu_usage_percent=compute_percent(cpu, cpu_allocatable),
        memory_usage_percent=compute_percent(memory, memory_allocatable),
        pods_running=phases.get("Running", 0),
        pods_pending=phases.get("Pending", 0),
        pods_failed=phases.get("Failed", 0),
        pods_succeeded=phases.get("Succeeded", 0),
        pods_total=sum(phases.values()),
        kernel_version=info.kernel_version,
        os_image=info.os_image,
        container_runtime=info.container_runtime_version,
        kubelet_version=info.kubelet_version,
        architecture=info.architecture,
        labels=node.metadata.labels or {},
        annotations=node.metadata.annotations or {},
        taints=tuple(NodeTaint(t.key, t.value, t.effect) for t in node.spec.taints or ()),
        internal_ip=addresses.get("InternalIP", ""),
        external_ip=addresses.get("ExternalIP", ""),
        hostname=addresses.get("Hostname", ""),
        images_count=len(node.status.images or ()),
        volumes_attached=len(node.status.volumes_attached or ()),
        cpu_used=parse_cores(usage.usage.get("cpu")) if usage else msgspec.UNSET,
        memory_used=parse_whole(usage.usage.get("memory")) if usage else msgspec.UNSET,
    )


def describe_status(node: Node) -> str:
    """The status of a node: SchedulingDisabled, or Ready, NotReady or Unknown."""
    if node.spec.unschedulable:
        return CORDONED
    for each in node.status.conditions or ():
        if each.type == READY:
            return READY if each.status == "True" else NOT_READY
    return UNKNOWN


def summarize(nodes: Sequence[NodeFacts], *, now: str) -> NodesSummary:
    """Build the summary of all nodes."""
    count = len(nodes)
    return NodesSummary(
        total=count,
        ready=sum(each.status == READY for each in nodes),
        not_ready=sum(each.status in (NOT_READY, UNKNOWN) for each in nodes),
        scheduling_disabled=sum(each.status == CORDONED for each in nodes),
        by_role=dict(Counter(role for each in nodes for role in each.roles)),
        total_cpu_capacity=sum(each.cpu_capacity for each in nodes),
        total_memory_capacity=sum(each.memory_capacity for each in nodes),
        avg_cpu_usage=sum(each.cpu_usage_percent for each in nodes) / count if count else 0.0,
        avg_memory_usage=sum(each.memory_usage_percent for each in nodes) / count if count else 0.0,
        timestamp=now,
    )


def _find_roles(node: Node) -> tuple[str, ...]:
    labels = node.metadata.labels or {}
    found = (name.removeprefix(ROLE_PREFIX) for name in labels if name.startswith(ROLE_PREFIX))
    return tuple(sorted(filter(None, found)))


def _map_addresses(node: Node) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for each in node.status.addresses or ():
        found.setdefault(each.type, each.address)
    return found
