"""The simulator as a `Hypervisor`: calls are recorded, and failure rules apply to them."""

from collections.abc import Sequence

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.simulator.calls import NOBODY, Caller, Save, Target
from quarterdeck.operators.machines.drivers.simulator.faults import FailureRule
from quarterdeck.operators.machines.drivers.simulator.journal import Destroyed
from quarterdeck.operators.machines.drivers.simulator.templates import find_template
from quarterdeck.operators.machines.drivers.simulator.world import SLOWNESS, SimulatedVM, Simulator
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import (
    Capability,
    CloudInit,
    ConnectionInfo,
    Node,
    Owner,
    Power,
    PowerAction,
    TaskInfo,
    TaskRef,
    TemplateInfo,
    TemplateRef,
    VMInfo,
    VMSpec,
)

VERSION = "mock-1.0.0"
_LONGEST_SEED = 1 << 20
_TASKS = {
    PowerAction.ON: "power_on",
    PowerAction.OFF: "power_off",
    PowerAction.SHUTDOWN: "power_shutdown",
    PowerAction.REBOOT: "power_reboot",
}
_STARTS = (PowerAction.ON, PowerAction.REBOOT)


class SimulatorProvider:
    """One operator's connection to a simulated hypervisor."""

    def __init__(self, world: Simulator, *, token: str = "", save: Save | None = None) -> None:
        """`save` is awaited after each call; None saves nothing."""
        self.world = world
        self._call = Caller(world, token, save).call

    @property
    def name(self) -> str:
        """The provider's name."""
        return "mock"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Everything but snapshots."""
        return frozenset(Capability) - {Capability.SNAPSHOTS}

    # --- inventory

    async def test_connection(self) -> ConnectionInfo:
        """Succeed, unless the hypervisor is partitioned or refuses the credentials."""
        metadata = {"provider": "mock", "type": "test"}
        return await self._call(
            Target("test_connection"), lambda _: ConnectionInfo(VERSION, metadata)
        )

    async def list_nodes(self) -> Sequence[Node]:
        """Every node."""
        return await self._call(Target("list_nodes"), lambda _: self.world.list_node_infos())

    async def validate_template(self, template: TemplateRef) -> TemplateInfo:
        """The template that the reference matches."""
        return await self._call(
            Target("validate_template", name=template.name),
            lambda _: find_template(self.world, template),
        )

    async def list_vms(self) -> Sequence[VMInfo]:
        """Every VM."""

        def read(rule: FailureRule | None) -> list[VMInfo]:
            if rule is None:
                return list(self.world.list_vm_infos())
            before = (vm.previous for vm in self.world.vms.values() if not vm.is_template)
            return [each for each in before if each is not None]

        return await self._call(Target("list_vms"), read)

    async def get_vm(self, vmid: int) -> VMInfo:
        """One VM."""

        def read(rule: FailureRule | None) -> VMInfo:
            if rule is None:
                return self.world.build_vm_info(self.world.find(vmid))
            vm = self.world.vms.get(vmid)
            before = vm.previous if vm is not None else self.world.removed.get(vmid)
            if before is None:
                raise make_error(Code.NOT_FOUND, f"VM {vmid} not found")
            return before

        return await self._call(self._build_target("get_vm", vmid), read)

    # --- provisioning

    async def reserve_id(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """The lowest free id."""

        def reserve(_: FailureRule | None) -> int:
            self.world.settle()
            for vmid in range(start, end + 1):
                if vmid not in self.world.vms and vmid not in taken:
                    return vmid
            raise make_error(
                Code.IDS_EXHAUSTED, f"no free id in {start}-{end}; extend spec.vmidRange"
            )

        return await self._call(Target("reserve_id"), reserve)

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
        """Make a VM; it is locked until the task has ended."""

        def clone(rule: FailureRule | None) -> TaskRef:
            self._check_node(node)
            small = spec._replace(disk_bytes=min(spec.disk_bytes, template.disk_bytes))
            vm = self.world.make_vm(vmid, small, node=node, description=ownership.describe(owner))
            vm.lock, vm.tags = "clone", template.tags
            vm.profile = spec.failure_profile
            if spec.boot_s is not None:
                vm.boot_s = spec.boot_s
            if vm.profile == "slow":
                vm.boot_s *= SLOWNESS
            failure = "storage: clone failed: got timeout" if rule is not None else ""
            return self.world.begin("clone_vm", vm, lambda: _unlock(vm), failure=failure)

        return await self._call(Target("clone_vm", vmid, spec.name, node, owner), clone)

    async def configure_vm(self, vmid: int, spec: VMSpec, *, owner: Owner) -> TaskRef | None:
        """Set sizes and tags."""

        def configure(rule: FailureRule | None) -> TaskRef | None:
            vm = self._get_owned(vmid, owner, "configure_vm")
            self.world.touch(vm)
            self.world.resize(vm, spec)
            if rule is not None:
                raise make_error(Code.TIMEOUT, f"configuring VM {vmid} ended half way")
            vm.tags = tuple(dict.fromkeys((*ownership.build_owner_tags(owner), *spec.tags)))
            vm.description = ownership.describe(owner)
            return None

        return await self._call(self._build_target("configure_vm", vmid, owner), configure)

    async def inject_cloud_init(self, vmid: int, data: CloudInit, *, owner: Owner) -> None:
        """Keep the seed with the VM."""

        def inject(_: FailureRule | None) -> None:
            if sum(map(len, data)) > _LONGEST_SEED:
                raise make_error(Code.PAYLOAD_TOO_LARGE, "the seed is longer than 1 MiB")
            self._get_owned(vmid, owner, "inject_cloud_init").seed = data
            self.world.mark_changed(vmid)

        await self._call(self._build_target("inject_cloud_init", vmid, owner), inject)

    async def detach_cloud_init(self, vmid: int, *, owner: Owner) -> None:
        """Detach the seed."""

        def detach(_: FailureRule | None) -> None:
            self._get_owned(vmid, owner, "detach_cloud_init").seed = None
            self.world.mark_changed(vmid)

        await self._call(self._build_target("detach_cloud_init", vmid, owner), detach)

    async def delete_vm(self, vmid: int, *, owner: Owner) -> TaskRef | None:
        """Remove a VM that does not run."""

        def delete(rule: FailureRule | None) -> TaskRef | None:
            self.world.settle()
            if vmid not in self.world.vms:
                return None
            vm = self._get_owned(vmid, owner, "delete_vm")
            if vm.power is Power.RUNNING:
                raise make_error(Code.RUNNING, f"VM {vmid} is running - destroy failed")
            if rule is not None:
                failure = "storage: cannot remove disk: got timeout"
                return self.world.begin("delete_vm", vm, lambda: None, failure=failure)
            self.world.touch(vm)
            vm.lock = "destroy"
            gone = Destroyed(vm.id, vm.name, vm.description, vm.tags, owner)
            return self.world.begin("delete_vm", vm, lambda: self._destroy(vm, gone))

        return await self._call(self._build_target("delete_vm", vmid, owner), delete)

    # --- operation

    async def power(self, vmid: int, action: PowerAction, *, owner: Owner) -> TaskRef | None:
        """Change the power state of a VM."""

        def switch(rule: FailureRule | None) -> TaskRef | None:
            vm = self._get_owned(vmid, owner, "power")
            if vm.lock:
                raise make_error(Code.LOCKED, f"VM {vmid} is locked ({vm.lock})")
            wanted = Power.RUNNING if action in _STARTS else Power.STOPPED
            if vm.power is wanted and action is not PowerAction.REBOOT:
                return None
            failure = "start failed: got timeout" if rule is not None else ""
            return self.world.begin(
                _TASKS[action], vm, lambda: self._switch(vm, wanted), failure=failure
            )

        return await self._call(self._build_target("power", vmid, owner), switch)

    async def task_status(self, task: TaskRef) -> TaskInfo:
        """The state of a task."""
        return await self._call(
            Target("task_status", node=task.node), lambda _: self.world.get_task_info(task)
        )

    async def tag_vm(
        self, vmid: int, *, tags: Sequence[str], description: str, owner: Owner | None
    ) -> None:
        """Replace tags and description."""

        def tag(_: FailureRule | None) -> None:
            vm = self.world.find(vmid)
            if owner is not None:
                ownership.check_owned(self.world.build_vm_info(vm), owner, "tag_vm")
            self.world.touch(vm)
            vm.tags, vm.description = tuple(tags), description

        await self._call(self._build_target("tag_vm", vmid, owner or NOBODY), tag)

    async def console_url(self, vmid: int, *, owner: Owner) -> str:
        """The file that the machine's console is written to."""

        def address(_: FailureRule | None) -> str:
            vm = self._get_owned(vmid, owner, "console_url")
            if self.world.consoles is None:
                text = "this simulator has no data folder and keeps no consoles"
                raise make_error(Code.NOT_SUPPORTED, text)
            return self.world.consoles.path(vm.uuid).as_uri()

        return await self._call(self._build_target("console_url", vmid, owner), address)

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""

    # --- parts of calls

    def _build_target(self, operation: str, vmid: int, owner: Owner = NOBODY) -> Target:
        vm = self.world.vms.get(vmid)
        name, node = (vm.name, vm.node) if vm is not None else ("", "")
        return Target(operation, vmid, name, node, owner)

    def _get_owned(self, vmid: int, owner: Owner, operation: str) -> SimulatedVM:
        vm = self.world.find(vmid)
        ownership.check_owned(self.world.build_vm_info(vm), owner, operation)
        self._check_node(vm.node)
        if vm.lock and operation != "power":
            raise make_error(Code.LOCKED, f"VM {vmid} is locked ({vm.lock})")
        return vm

    def _check_node(self, name: str) -> None:
        node = self.world.nodes.get(name)
        if node is None or not node.is_online:
            raise make_error(Code.UNAVAILABLE, f"node {name} is offline")

    def _switch(self, vm: SimulatedVM, power: Power) -> None:
        if self.world.vms.get(vm.id) is vm:
            self.world.set_power(vm, power, self.world.clock.monotonic())

    def _destroy(self, vm: SimulatedVM, gone: Destroyed) -> None:
        if self.world.vms.get(vm.id) is vm:
            self.world.destroyed.append(gone)
            self.world.remove(vm.id)


def _unlock(vm: SimulatedVM) -> None:
    vm.lock = ""
