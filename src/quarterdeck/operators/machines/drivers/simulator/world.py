"""Nodes, templates, VMs and tasks of a simulated hypervisor. Nothing here waits.

Time comes from a clock, and due work is done on the next call: no task runs in the background,
so a world is exactly repeatable. Invariants: one VM per id, no capacity below zero.
"""

import dataclasses
import random
import uuid
from collections.abc import Callable, Iterator

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.simulator.consoles import Consoles
from quarterdeck.operators.machines.drivers.simulator.faults import Faults
from quarterdeck.operators.machines.drivers.simulator.journal import Destroyed, Journal
from quarterdeck.operators.machines.drivers.simulator.settings import GIB, SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.tasks import Tasks
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import (
    CloudInit,
    Node,
    Power,
    TaskInfo,
    TaskRef,
    VMInfo,
    VMSpec,
)

FLAKINESS = 0.2
"""Share of failing calls for VMs of the profile `flaky`."""
SLOWNESS = 5.0
"""How much longer tasks and boots of VMs of the profile `slow` take."""


@dataclasses.dataclass(slots=True)
class SimulatedVM:
    """A VM."""

    id: int
    name: str
    uuid: str
    node: str
    cpu: int
    memory_bytes: int
    disk_bytes: int
    mac: str
    power: Power = Power.STOPPED
    lock: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    is_template: bool = False
    ip: str = ""
    boot_s: float = 0.0
    profile: str = "none"
    """The failure profile of its template, such as `flaky` or `slow`."""
    started_at: float = 0.0
    seed: CloudInit | None = None
    previous: VMInfo | None = None
    """The VM before its last change, for stale reads; None if it never changed."""


@dataclasses.dataclass(slots=True)
class SimulatedNode:
    """A node."""

    name: str
    cpu: int
    memory_bytes: int
    storage_bytes: int
    is_online: bool = True
    cpu_used: int = 0
    memory_used: int = 0
    storage_used: int = 0
    vms: int = 0


class Simulator:
    """A hypervisor in memory."""

    def __init__(self, clock: Clock, settings: SimulatorSettings | None = None) -> None:
        self.clock = clock
        self.settings = settings if settings is not None else SimulatorSettings()
        self.random = random.Random(self.settings.seed)
        self.faults = Faults(random.Random(self.settings.seed + 1))
        self.journal = Journal()
        self.destroyed: list[Destroyed] = []
        self.nodes: dict[str, SimulatedNode] = {}
        self.vms: dict[int, SimulatedVM] = {}
        self.removed: dict[int, VMInfo] = {}
        self.is_partitioned = False
        self.token = ""
        """The secret that credentials must have; empty accepts all."""
        self.consoles: Consoles | None = None
        """The console files of machines; None writes none."""
        self.performed: set[str] = set()
        """Performed actions, by ConfigMap and id; saved, so that a restart repeats none."""
        self.changes = 0
        """The number of changes so far; the state is saved when it has grown."""
        self.unsaved: set[int] = set()
        """Ids of VMs that were changed or removed since `unsaved` was last cleared."""
        self._tasks = Tasks(clock)
        for number in range(1, self.settings.nodes + 1):
            self.add_node(f"sim-{number}")
        for name, vmid in self.settings.templates.items():
            self.add_template(vmid, name)

    # --- what there is

    def add_node(self, name: str) -> None:
        """Add a node of the size in the settings."""
        size = self.settings
        self.nodes[name] = SimulatedNode(
            name, size.cpu, size.memory_gib * GIB, size.storage_gib * GIB
        )

    def add_template(self, vmid: int, name: str) -> None:
        """Add a template; it takes no capacity."""
        node = next(iter(self.nodes))
        self.vms[vmid] = SimulatedVM(
            vmid, name, self._generate_uuid(), node, 1, GIB, 2 * GIB, "", is_template=True
        )

    def list_node_infos(self) -> list[Node]:
        """Every node with its free capacity."""
        self.settle()
        return [
            Node(
                node.name,
                node.is_online,
                node.cpu,
                node.cpu - node.cpu_used,
                node.memory_bytes,
                node.memory_bytes - node.memory_used,
                node.storage_bytes - node.storage_used,
                node.vms,
            )
            for node in self.nodes.values()
        ]

    def list_vm_infos(self) -> Iterator[VMInfo]:
        """Every VM that is not a template; without uptimes, which would change each list."""
        self.settle()
        now = self.clock.monotonic()
        found = (self._build_info(vm, now) for vm in self.vms.values() if not vm.is_template)
        return (vm._replace(uptime_s=0.0) if vm.uptime_s else vm for vm in found)

    def build_vm_info(self, vm: SimulatedVM) -> VMInfo:
        """A VM as the API shows it."""
        return self._build_info(vm, self.clock.monotonic())

    def _build_info(self, vm: SimulatedVM, now: float) -> VMInfo:
        power = vm.power if self.nodes[vm.node].is_online else Power.UNKNOWN
        is_up = power is Power.RUNNING
        return VMInfo(
            vm.id,
            vm.name,
            vm.uuid,
            vm.node,
            power,
            vm.lock,
            (vm.ip,) if is_up and now >= vm.started_at + vm.boot_s else (),
            vm.mac,
            vm.tags,
            vm.description,
            vm.is_template,
            now - vm.started_at if is_up else 0.0,
            vm.cpu,
            vm.memory_bytes,
        )

    def find(self, vmid: int) -> SimulatedVM:
        """A VM. Raises NOT_FOUND."""
        self.settle()
        vm = self.vms.get(vmid)
        if vm is None:
            raise make_error(Code.NOT_FOUND, f"VM {vmid} not found")
        return vm

    # --- changes

    def touch(self, vm: SimulatedVM) -> None:
        """Save the state for stale reads; call it before a change."""
        vm.previous = self.build_vm_info(vm)
        self.mark_changed(vm.id)

    def mark_changed(self, *vmids: int) -> None:
        """Count a change of these VMs, or of the hypervisor itself if none is given."""
        self.unsaved.update(vmids)
        self.changes += 1

    def make_vm(self, vmid: int, spec: VMSpec, *, node: str, description: str) -> SimulatedVM:
        """Create a VM and reserve its capacity. Raises ALREADY_EXISTS or RESOURCE_EXHAUSTED."""
        self.settle()
        if vmid in self.vms:
            raise make_error(Code.ALREADY_EXISTS, f"VM {vmid} already exists")
        vm = SimulatedVM(
            vmid,
            spec.name,
            self._generate_uuid(),
            node,
            0,
            0,
            0,
            self._generate_mac(),
            description=description,
        )
        self._resize(vm, spec)
        self.nodes[node].vms += 1
        vm.ip = f"10.{vmid >> 16 & 255}.{vmid >> 8 & 255}.{vmid & 255}"
        vm.boot_s = self.random.uniform(*self.settings.boot_s)
        self.vms[vmid] = vm
        self.removed.pop(vmid, None)
        self.mark_changed(vmid)
        return vm

    def resize(self, vm: SimulatedVM, spec: VMSpec) -> None:
        """Change processors, memory and disk. Raises RESOURCE_EXHAUSTED or INVALID_SPEC."""
        if spec.disk_bytes < vm.disk_bytes:
            raise make_error(Code.INVALID_SPEC, f"the disk of VM {vm.id} cannot shrink")
        self._resize(vm, spec)

    def _resize(self, vm: SimulatedVM, spec: VMSpec) -> None:
        node = self.nodes[vm.node]
        cpu, memory = spec.cpu - vm.cpu, spec.memory_bytes - vm.memory_bytes
        disk = spec.disk_bytes - vm.disk_bytes
        if (
            node.cpu_used + cpu > node.cpu
            or node.memory_used + memory > node.memory_bytes
            or node.storage_used + disk > node.storage_bytes
        ):
            raise make_error(Code.RESOURCE_EXHAUSTED, f"node {node.name} has no room for a VM")
        node.cpu_used += cpu
        node.memory_used += memory
        node.storage_used += disk
        vm.cpu, vm.memory_bytes, vm.disk_bytes = spec.cpu, spec.memory_bytes, spec.disk_bytes

    def remove(self, vmid: int) -> None:
        """Remove a VM and release its capacity."""
        vm = self.vms.pop(vmid, None)
        if vm is None:
            return
        self.removed[vmid] = self.build_vm_info(vm)
        if self.consoles is not None:
            self.consoles.remove(vm.uuid)
        node = self.nodes[vm.node]
        node.cpu_used -= vm.cpu
        node.memory_used -= vm.memory_bytes
        node.storage_used -= vm.disk_bytes
        node.vms -= 1
        self.mark_changed(vmid)

    def set_power(self, vm: SimulatedVM, power: Power, at: float) -> None:
        """Set the power state; `at` is the monotonic time of a start."""
        self.touch(vm)
        vm.power = power
        vm.started_at = at if power is Power.RUNNING else 0.0
        if self.consoles is not None:
            self._write_console(vm, self.consoles)

    def _write_console(self, vm: SimulatedVM, consoles: Consoles) -> None:
        """Write the console lines of a start or stop; those of a finished boot are scheduled."""
        if vm.power is not Power.RUNNING:
            consoles.write(vm.uuid, "reboot: Power down")
            return
        started_at = vm.started_at

        def end_boot() -> None:
            if vm.started_at == started_at and self.vms.get(vm.id) is vm:
                consoles.write(
                    vm.uuid,
                    f"[{vm.boot_s:12.6f}] eth0: address {vm.ip}, hardware address {vm.mac}",
                    f"{vm.name} login:",
                )

        memory = vm.memory_bytes // 1024
        consoles.write(
            vm.uuid,
            f"[    0.000000] simulated machine {vm.name} ({vm.uuid}) on node {vm.node}",
            f"[    0.000000] {vm.cpu} processors, {memory}K memory, {vm.disk_bytes >> 30}G disk",
        )
        self._tasks.schedule(vm.boot_s, end_boot)

    # --- tasks

    def begin(
        self,
        operation: str,
        vm: SimulatedVM,
        effect: Callable[[], None],
        *,
        failure: str = "",
    ) -> TaskRef:
        """Start a task; its effect happens at its end, even if `failure` makes it fail."""
        low, high = self.settings.latencies.get(operation, (0.0, 0.0))
        slowness = SLOWNESS if vm.profile == "slow" else 1.0
        delay_s = self.random.uniform(low, high) * self.settings.scale * slowness
        return self._tasks.begin(operation, vm.node, effect, failure=failure, delay_s=delay_s)

    def settle(self) -> None:
        """End the tasks that are due, in the order of their ends."""
        self._tasks.settle()

    def get_task_info(self, ref: TaskRef) -> TaskInfo:
        """The state of a task. Raises TASK_UNKNOWN."""
        return self._tasks.read(ref)

    def forget_tasks(self) -> None:
        """Drop the records of tasks that have ended, as hypervisors do after a while."""
        self._tasks.forget_ended()

    def _generate_uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _generate_mac(self) -> str:
        tail = self.random.getrandbits(40).to_bytes(5, "big")
        return "02:" + ":".join(f"{byte:02x}" for byte in tail)
