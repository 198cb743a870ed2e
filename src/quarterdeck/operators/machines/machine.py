"""Values that the port to hypervisors uses: nodes, templates, VMs, tasks."""

import enum
from collections.abc import Mapping
from typing import NamedTuple

from quarterdeck.kit.redaction import Secret


class Capability(enum.StrEnum):
    """Optional features of a hypervisor."""

    LINKED_CLONE = "linked_clone"
    VTPM = "vtpm"
    CLOUD_INIT_ISO = "cloud_init_iso"
    GUEST_AGENT = "guest_agent"
    SNAPSHOTS = "snapshots"
    LIVE_RESIZE = "live_resize"
    CONSOLE = "console"


class Power(enum.StrEnum):
    """The power state of a VM."""

    RUNNING = "Running"
    STOPPED = "Stopped"
    PAUSED = "Paused"
    SUSPENDED = "Suspended"
    UNKNOWN = "Unknown"


class PowerAction(enum.StrEnum):
    """An action of `power`. OFF cuts the power, SHUTDOWN asks the guest."""

    ON = "On"
    OFF = "Off"
    SHUTDOWN = "Shutdown"
    REBOOT = "Reboot"


class TaskState(enum.StrEnum):
    """The state of a task."""

    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"


class ConnectionInfo(NamedTuple):
    """Version and metadata of the hypervisor at an endpoint."""

    version: str
    metadata: Mapping[str, str]
    """`provider` and `type`, and further details of the provider."""


class Node(NamedTuple):
    """A host that VMs run on; memory and storage in bytes."""

    name: str
    is_online: bool
    cpu_total: int = 0
    cpu_free: int = 0
    memory_total: int = 0
    memory_free: int = 0
    storage_free: int = 0
    vms: int = 0


class TemplateRef(NamedTuple):
    """A reference to a template: by id, by name, by tags, or by the path of an image."""

    id: int = 0
    name: str = ""
    tags: tuple[str, ...] = ()
    image: str = ""
    options: Mapping[str, str] = {}
    """Further settings of the provider, such as `kernel` for local QEMU."""


class TemplateInfo(NamedTuple):
    """A template as the hypervisor reports it."""

    id: int
    name: str
    nodes: tuple[str, ...]
    """Nodes that it can be cloned on; templates on local storage exist per node."""
    disk_bytes: int = 0
    has_agent: bool = False
    has_tpm: bool = False
    os: str = ""
    storage_type: str = ""
    tags: tuple[str, ...] = ()
    """Tags that a clone inherits, until it is configured."""


class Nic(NamedTuple):
    """A network interface."""

    bridge: str
    vlan: int | None = None
    mac: str = ""


class VMSpec(NamedTuple):
    """The desired configuration of a VM."""

    name: str
    cpu: int
    memory_bytes: int
    disk_bytes: int
    nics: tuple[Nic, ...] = ()
    storage: str = ""
    tags: tuple[str, ...] = ()
    """Further tags beside those of the owner."""
    has_tpm: bool = False
    boot_s: float | None = None
    """How long it boots in the simulator; None for the time in its settings."""
    failure_profile: str = "none"
    """How calls for it fail in the simulator: none, flaky or slow."""


class CloudInit(NamedTuple):
    """The three documents of a NoCloud seed."""

    user_data: str
    meta_data: str
    network_data: str = ""


class Owner(NamedTuple):
    """The owner of a VM: written into tags and description, compared before every change."""

    operator_uid: str
    claim_uid: str
    claim: str
    """namespace/name of the claim."""
    vm_name: str
    cluster: str = ""
    pool: str = ""
    created_at: str = ""
    is_tagged: bool = True
    """Whether the tags must be there too; a fresh clone has its description only."""
    inherited_tags: tuple[str, ...] = ()
    """Tags that a fresh clone has from its template, and no others."""


class VMInfo(NamedTuple):
    """A VM as the hypervisor reports it."""

    id: int
    name: str
    uuid: str
    node: str
    power: Power
    lock: str = ""
    """What the hypervisor is doing with it, such as `clone`; empty if nothing."""
    ips: tuple[str, ...] = ()
    mac: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    is_template: bool = False
    uptime_s: float = 0.0
    cpu: int = 0
    memory_bytes: int = 0
    ssh_address: str = ""
    """HOST:PORT of its SSH server, if that is not reached at its address."""


class TaskRef(NamedTuple):
    """A task that the hypervisor works on."""

    id: str
    node: str = ""
    operation: str = ""


class TaskInfo(NamedTuple):
    """The state of a task, and its message."""

    state: TaskState
    message: str = ""
    progress: float | None = None


class AccessData(NamedTuple):
    """Credentials of a hypervisor; one pair is set, or none."""

    token_id: str = ""
    token_secret: Secret[str] = Secret("")
    username: str = ""
    password: Secret[str] = Secret("")
    client_cert: str = ""
    client_key: Secret[str] = Secret("")
