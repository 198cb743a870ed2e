"""Nodes: the machines pods run on."""

from collections.abc import Mapping

import msgspec

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Quantity, Time
from quarterdeck.meta.objects import Object, Struct


class Taint(Struct, frozen=True, kw_only=True):
    """What keeps pods off a node unless they tolerate it."""

    key: str
    effect: str
    value: str = ""
    time_added: Time | None = None


class NodeSpec(Struct, frozen=True, kw_only=True):
    """What a node should be."""

    pod_cidr: str = msgspec.field(name="podCIDR", default="")
    pod_cidrs: tuple[str, ...] = msgspec.field(name="podCIDRs", default=())
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeAddress(Struct, frozen=True, kw_only=True):
    """One way to reach a node."""

    type: str
    address: str


class NodeCondition(Struct, frozen=True, kw_only=True):
    """One fact about a node's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None


class NodeSystemInfo(Struct, frozen=True, kw_only=True):
    """What runs on a node."""

    machine_id: str = msgspec.field(name="machineID", default="")
    system_uuid: str = msgspec.field(name="systemUUID", default="")
    boot_id: str = msgspec.field(name="bootID", default="")
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""
    kube_proxy_version: str = ""
    operating_system: str = ""
    architecture: str = ""


class NodeStatus(Struct, frozen=True, kw_only=True):
    """What a node is."""

    capacity: Mapping[str, Quantity] = {}
    allocatable: Mapping[str, Quantity] = {}
    phase: str = ""
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object, frozen=True, kw_only=True):
    """A machine that runs pods."""

    KIND = KindInfo(
        group="",
        version="v1",
        kind="Node",
        plural="nodes",
        singular="node",
        short_names=("no",),
        scope=Scope.CLUSTER,
    )
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
