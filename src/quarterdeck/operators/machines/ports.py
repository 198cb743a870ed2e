"""The port to a hypervisor. Every call may raise `errors.HypervisorError`.

Rules that every provider keeps, and `tests/contract/hypervisor` checks:

- A mutating call names the `Owner`; before it changes an existing VM the provider reads it and
  raises OWNERSHIP_MISMATCH unless `ownership.is_owned` holds. Ids alone prove nothing.
- A call that returns a `TaskRef` has only begun; None means it has finished.
- Calls are idempotent by owner and id: to repeat one after a lost answer is safe.
- `delete_vm` of a VM that is gone succeeds. `get_vm` of one raises NOT_FOUND.
- A TransientError does not imply that the call had no effect: read the VM to find out.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.machine import (
    AccessData,
    Capability,
    CloudInit,
    ConnectionInfo,
    Node,
    Owner,
    PowerAction,
    TaskInfo,
    TaskRef,
    TemplateInfo,
    TemplateRef,
    VMInfo,
    VMSpec,
)


class Inventory(Protocol):
    """Reads nodes, templates and VMs."""

    async def test_connection(self) -> ConnectionInfo:
        """Check that the endpoint answers and accepts the credentials.

        Raises UNAVAILABLE, UNAUTHORIZED or TLS.
        """
        ...

    async def list_nodes(self) -> Sequence[Node]:
        """Every node with its free resources."""
        ...

    async def validate_template(self, template: TemplateRef) -> TemplateInfo:
        """Find a template. Raises TEMPLATE_NOT_FOUND, AMBIGUOUS or NOT_A_TEMPLATE."""
        ...

    async def list_vms(self) -> Sequence[VMInfo]:
        """Every VM with tags and description, templates excluded; one or few requests."""
        ...

    async def get_vm(self, vmid: int) -> VMInfo:
        """One VM with its addresses. Raises NOT_FOUND."""
        ...


class Provisioning(Protocol):
    """Creates, configures and removes VMs."""

    async def reserve_id(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """An id in the range that no VM has and that is not in `taken`. Raises IDS_EXHAUSTED."""
        ...

    async def clone_vm(
        self,
        template: TemplateInfo,
        spec: VMSpec,
        *,
        vmid: int,
        node: str,
        linked: bool,
        owner: Owner,
    ) -> TaskRef | None:
        """Clone a template; name and description of the owner are reported from the start.

        Raises ALREADY_EXISTS, STORAGE_UNSUPPORTED, RESOURCE_EXHAUSTED or LOCKED.
        """
        ...

    async def configure_vm(self, vmid: int, spec: VMSpec, *, owner: Owner) -> TaskRef | None:
        """Set processors, memory, disk, network, a fresh vTPM, and the tags of the owner."""
        ...

    async def inject_cloud_init(self, vmid: int, data: CloudInit, *, owner: Owner) -> None:
        """Attach a NoCloud seed; replaces an earlier one. Raises PAYLOAD_TOO_LARGE."""
        ...

    async def detach_cloud_init(self, vmid: int, *, owner: Owner) -> None:
        """Detach the seed of a VM, running or not, and delete its image; succeeds without a seed.

        A seed may hold a secret for the first start, which must not stay in guest or storage.
        """
        ...

    async def delete_vm(self, vmid: int, *, owner: Owner) -> TaskRef | None:
        """Remove a stopped VM with its disks and seed. Raises RUNNING or LOCKED."""
        ...


class Operation(Protocol):
    """Controls the power of VMs, and reads their tasks and consoles."""

    async def power(self, vmid: int, action: PowerAction, *, owner: Owner) -> TaskRef | None:
        """Start, stop, shut down or reboot; succeeds if the VM is in that state already."""
        ...

    async def task_status(self, task: TaskRef) -> TaskInfo:
        """The state of a task. Raises TASK_UNKNOWN when the hypervisor has forgotten it."""
        ...

    async def tag_vm(
        self, vmid: int, *, tags: Sequence[str], description: str, owner: Owner | None
    ) -> None:
        """Replace tags and description. `owner` is None for a VM that has no owner yet."""
        ...

    async def console_url(self, vmid: int, *, owner: Owner) -> str:
        """The URL of the console. Raises NOT_SUPPORTED."""
        ...


class Hypervisor(Inventory, Provisioning, Operation, Protocol):
    """One hypervisor environment, with one set of credentials."""

    @property
    def name(self) -> str:
        """The provider's name, the scheme of provider ids."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional features that it supports."""
        ...

    async def aclose(self) -> None:
        """Release connections; VMs stay as they are."""
        ...


class ProviderSettings(NamedTuple):
    """The settings that a provider is opened with."""

    cluster: str
    """namespace/name of the HypervisorCluster."""
    endpoint: str
    access: AccessData
    nodes: tuple[str, ...]
    storage: str
    network: str
    clock: Clock
    is_insecure: bool = False
    """Whether any certificate is accepted."""
    ca_certificates: str = ""
    """Certificates to trust, in PEM; empty means those of the system."""
    timeout_s: float = 300.0
    max_concurrent_operations: int = 2
    """How many operations may run at once on each node."""
    folder: Path | None = None
    """The data folder, for providers that store files; None if there is none."""


OpenProvider = Callable[[ProviderSettings], Awaitable[Hypervisor]]
"""Opens a provider; entry points of the group `quarterdeck.hypervisors` name such functions. It
must not call the hypervisor: `test_connection` is the first call."""
