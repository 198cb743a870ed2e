"""HypervisorCluster: how to reach one hypervisor environment, and what it has."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.references import SecretKeySelector
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import AGE, Column, KindInfo
from quarterdeck.meta.markers import Int32, Int64, Quantity, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

DnsProviderType = Literal["route53", "cloudflare", "azure", "gcp"]

RANGE_IS_ORDERED = Rule(
    rule="self.end >= self.start", message="vmidRange.end must not be below vmidRange.start"
)


class Credentials(Struct, frozen=True, kw_only=True):
    """Where the credentials are; one complete pair is needed, the token pair is preferred."""

    token_id: SecretKeySelector | None = None
    """Identity of an API token."""
    token_secret: SecretKeySelector | None = None
    """Secret of the API token."""
    username: SecretKeySelector | None = None
    """User name, with the realm."""
    password: SecretKeySelector | None = None
    """Password of the user."""
    client_cert: SecretKeySelector | None = None
    """Client certificate, PEM."""
    client_key: SecretKeySelector | None = None
    """Key of the client certificate, PEM."""


class ClusterTls(Struct, frozen=True, kw_only=True):
    """How the hypervisor's certificate is checked."""

    insecure_skip_verify: Annotated[bool, Schema(default=False)] = False
    """Accept any certificate."""
    ca_certificate: SecretKeySelector | None = None
    """Certificates to trust, PEM; those of the system if left out."""


class DnsCredentials(Struct, frozen=True, kw_only=True):
    """Credentials of a DNS provider."""

    access_key_id: SecretKeySelector | None = None
    """Access key of the provider."""
    secret_access_key: SecretKeySelector | None = None
    """Secret of the access key."""
    api_token: SecretKeySelector | None = None
    """API token of the provider."""


class DnsProvider(Struct, frozen=True, kw_only=True):
    """Where addresses of machines are registered."""

    type: DnsProviderType
    """Kind of provider."""
    credentials: DnsCredentials | None = None
    """Credentials of the provider."""


class DnsValidation(Struct, frozen=True, kw_only=True):
    """Whether names of machines are looked up."""

    enabled: bool = False
    """Look names up."""
    validate_on_ready: bool = False
    """Look a name up when its machine becomes ready."""
    validate_interval: Annotated[str, Schema(default="5m", pattern=names.DURATION_PATTERN)] = "5m"
    """How often names are looked up again."""
    validate_reverse: bool = False
    """Look addresses up too; a difference is only logged."""
    timeout_seconds: Annotated[Int32, Schema(default=10, minimum=1)] = 10
    """How long one lookup may take."""


class ClusterDns(Struct, frozen=True, kw_only=True):
    """Names of the machines."""

    domain: Annotated[str, Schema(min_length=1)]
    """Domain of the machines."""
    servers: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Name servers of the machines; those that DHCP gives if left out."""
    register_vms: bool = msgspec.field(name="registerVMs", default=False)
    """Register machines with the DNS provider."""
    dns_provider: DnsProvider | None = None
    """Where machines are registered."""
    validation: DnsValidation | None = None
    """Whether names are looked up."""


class NetworkValidation(Struct, frozen=True, kw_only=True):
    """Whether machines are reached before they count as ready."""

    enabled: bool = False
    """Reach machines over the network."""
    ping_test: bool = False
    """Send an ICMP echo."""
    ssh_test: bool = False
    """Connect to port 22."""
    timeout_seconds: Annotated[Int32, Schema(default=30, minimum=1)] = 30
    """How long all tests may take."""


class ClusterNetwork(Struct, frozen=True, kw_only=True):
    """Network of the cluster."""

    validation: NetworkValidation | None = None
    """Whether machines are reached before they count as ready."""


class VmidRange(Struct, frozen=True, kw_only=True):
    """Ids that this operator may use."""

    start: Annotated[Int32, Schema(minimum=100)]
    """First id."""
    end: Annotated[Int32, Schema(minimum=100)]
    """Last id."""


class SchedulerHints(Struct, frozen=True, kw_only=True):
    """How nodes are chosen."""

    memory_adjustment: Annotated[Int32, Schema(default=100, minimum=0, maximum=10000)] = 100
    """Percentage of a node's memory that may be given out; 0 switches the check off."""


class HypervisorClusterSpec(Struct, frozen=True, kw_only=True):
    """How to reach a hypervisor."""

    provider: Annotated[str, Schema(pattern=names.PROVIDER_PATTERN)]
    """Provider: proxmox, mock (the simulator), qemu (alias libvirt), or an installed one."""
    endpoint: Annotated[str, Schema(max_length=2048, pattern=names.ENDPOINT_PATTERN)]
    """Address of the hypervisor, with or without the path of its API."""
    credentials: Credentials | None = None
    """Where the credentials are; the simulator and local QEMU need none."""
    tls: ClusterTls | None = None
    """How the certificate is checked."""
    nodes: Annotated[tuple[str, ...], Schema(min_items=1, max_items=1000, list_type="set")]
    """Nodes that machines may run on."""
    default_storage: Annotated[str, Schema(min_length=1)]
    """Storage of disks."""
    default_network: Annotated[str, Schema(min_length=1)]
    """Bridge that machines are attached to."""
    dns: ClusterDns | None = None
    """Names of the machines."""
    network: ClusterNetwork | None = None
    """Network of the cluster."""
    tags: Mapping[str, str] = {}
    """Tags of every VM of the cluster."""
    vmid_range: Annotated[VmidRange, Schema(rules=(RANGE_IS_ORDERED,))] | None = None
    """Ids that this operator may use; keeps operators that share a hypervisor apart."""
    scheduler_hints: SchedulerHints | None = None
    """How nodes are chosen."""
    max_concurrent_operations: Annotated[Int32, Schema(default=2, minimum=1, maximum=100)] = 2
    """Clone, configure, power and delete operations that may run at once on one node."""


class AvailableResources(Struct, frozen=True, kw_only=True):
    """What is free on all nodes together."""

    cpu: Quantity = "0"
    """Free processors."""
    memory: Quantity = "0"
    """Free memory."""
    storage: Quantity = "0"
    """Free storage."""


class NodeStatus(Struct, frozen=True, kw_only=True):
    """What one node has."""

    name: str
    """Name of the node."""
    online: bool = always_written(default=False)
    """Whether the node runs."""
    cpu_total: Int32 = 0
    """Processors."""
    cpu_free: Int32 = 0
    """Free processors."""
    mem_total: Quantity = "0"
    """Memory."""
    mem_free: Quantity = "0"
    """Free memory."""
    storage_free: Quantity = "0"
    """Free storage."""
    vms: Int32 = 0
    """VMs on the node."""


class HypervisorClusterStatus(Struct, frozen=True, kw_only=True):
    """What is known of a hypervisor."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation that was last handled."""
    connected_nodes: Int32 = always_written(0)
    """Nodes of the spec that are online."""
    available_resources: AvailableResources | None = None
    """What is free on all nodes together."""
    last_sync_time: Time = ""
    """When the hypervisor was last read."""
    provider_version: str = ""
    """Version of the hypervisor."""
    nodes: Annotated[tuple[NodeStatus, ...], Schema(list_type="map", list_map_keys=("name",))] = ()
    """The nodes of the spec."""
    credentials_hash: str = ""
    """Digest of the credentials in use; changes when they are rotated."""
    foreign_vms: Int32 = msgspec.field(name="foreignVMs", default=0)
    """VMs on these nodes that this operator did not make."""
    conditions: Conditions = ()
    """Ready, and Deleting while a deletion is blocked."""


class HypervisorCluster(Object, frozen=True, kw_only=True):
    """A hypervisor environment that machines run on."""

    KIND = KindInfo(
        group=names.GROUP,
        version=names.VERSION,
        kind="HypervisorCluster",
        plural="hypervisorclusters",
        singular="hypervisorcluster",
        short_names=("hvc",),
        categories=(names.CATEGORY,),
        columns=(
            Column(name="Provider", path=".spec.provider"),
            Column(name="Endpoint", path=".spec.endpoint"),
            Column(name="Nodes", type="integer", path=".status.connectedNodes"),
            Column(name="Ready", path='.status.conditions[?(@.type=="Ready")].status'),
            Column(name="Reason", path='.status.conditions[?(@.type=="Ready")].reason', priority=1),
            AGE,
        ),
    )
    spec: HypervisorClusterSpec
    """How to reach the hypervisor."""
    status: HypervisorClusterStatus = HypervisorClusterStatus()
    """What is known of the hypervisor."""
