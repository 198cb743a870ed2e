"""What a machine looks like: resources, network, cloud-init. Shared by templates and claims."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.apis.hypervisor import names
from quarterdeck.meta.markers import Int32, Schema
from quarterdeck.meta.objects import Struct

NetworkMode = Literal["dhcp", "static", "cloud-init"]
ClientIdentifier = Literal["mac", "hostname", "custom"]

MEMORY_PATTERN = r"^[0-9]+[KMGT]i?$"
DISK_PATTERN = r"^[0-9]+(G|Gi|T|Ti)$"


class MachineResources(Struct, frozen=True, kw_only=True):
    """Processors, memory and disk of a machine."""

    cpu: Annotated[Int32, Schema(minimum=1, maximum=64)]
    """Processors."""
    memory: Annotated[str, Schema(pattern=MEMORY_PATTERN)]
    """Memory, such as 8Gi."""
    disk: Annotated[str, Schema(pattern=DISK_PATTERN)]
    """Size of the disk, such as 50Gi; never below that of the template."""


class NetworkDns(Struct, frozen=True, kw_only=True):
    """Names inside the machine."""

    domain: str = ""
    """Domain of the machine."""
    search: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Domains that short names are looked up in."""


class StaticNetwork(Struct, frozen=True, kw_only=True):
    """Fixed addresses: one, or a pool that replicas share."""

    ip: Annotated[str, Schema(pattern=names.CIDR_PATTERN)] = ""
    """Address with prefix length; for one machine."""
    pool: Annotated[tuple[str, ...], Schema(max_items=64, list_type="atomic")] = ()
    """Addresses with prefix length, or ranges such as 10.0.0.10-10.0.0.50/24; each machine gets one
    that no other claim of the cluster has."""
    gateway: str = ""
    """Default gateway."""
    dns: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Name servers."""


class DhcpNetwork(Struct, frozen=True, kw_only=True):
    """What is sent to the DHCP server."""

    send_hostname: bool = False
    """Send the name of the machine."""
    request_static_lease: bool = False
    """Ask for the same address each time."""
    client_identifier: Annotated[ClientIdentifier, Schema(default="mac")] = "mac"
    """What identifies the machine."""
    lease_time: str = ""
    """Length of the lease to ask for."""


class MachineNetwork(Struct, frozen=True, kw_only=True):
    """Addresses and names of a machine."""

    mode: Annotated[NetworkMode, Schema(default="dhcp")] = "dhcp"
    """Where the address comes from."""
    bridge: str = ""
    """Bridge; the cluster's default if left out."""
    vlan: Annotated[Int32, Schema(minimum=1, maximum=4094)] | None = None
    """VLAN tag."""
    dns: NetworkDns | None = None
    """Names inside the machine."""
    static_config: StaticNetwork | None = None
    """Fixed addresses."""
    dhcp: DhcpNetwork | None = None
    """What is sent to the DHCP server."""


class CloudInit(Struct, frozen=True, kw_only=True):
    """Data for cloud-init; ${NAME} is replaced by what is known of the machine."""

    user_data: str = ""
    """User data, a cloud-config document."""
    meta_data: str = ""
    """Meta data; instance-id and local-hostname are set by the operator."""
    network_data: str = ""
    """Network configuration; made from network if left out."""
    ssh_authorized_keys: Annotated[tuple[str, ...], Schema(max_items=64, list_type="atomic")] = ()
    """Public keys that may log in."""
    user: str = ""
    """Name of the user that the keys belong to; the image's default user if left out."""


class MachineMetadata(Struct, frozen=True, kw_only=True):
    """Labels and annotations."""

    labels: Mapping[str, str] = {}
    """Labels."""
    annotations: Mapping[str, str] = {}
    """Annotations."""
