"""What the contract suite needs of a provider under test: the provider, and hands behind its back.

To add a provider: write an async context manager that yields a `Rig`, and name it in `conftest.py`.
"""

from collections.abc import Sequence
from typing import Protocol

from quarterdeck.operators.machines.machine import Owner, TaskInfo, TaskRef, TemplateRef, VMSpec
from quarterdeck.operators.machines.ports import Hypervisor

GIB = 1024**3


class Rig(Protocol):
    """A provider at a hypervisor that the test owns."""

    @property
    def hypervisor(self) -> Hypervisor:
        """The provider under test."""
        ...

    @property
    def template(self) -> TemplateRef:
        """A template that exists."""
        ...

    @property
    def node(self) -> str:
        """A node that is online."""
        ...

    def second(self) -> Hypervisor:
        """The provider as another operator has it, at the same hypervisor."""
        ...

    async def pass_time(self) -> None:
        """Let the hypervisor work; returns when some of its time has passed."""
        ...

    async def destroy_behind(self, vmid: int) -> None:
        """Remove a VM as an administrator would, whatever its state."""
        ...

    async def change_behind(
        self, vmid: int, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        """Rename or re-tag a VM as an administrator would."""
        ...

    async def read_seed(self, vmid: int) -> bytes | None:
        """The seed as a VM's drive has it; None if no drive and no storage has one."""
        ...

    async def forget_tasks(self) -> None:
        """Let the hypervisor forget the tasks that have ended."""
        ...

    async def lose_answer(self, operation: str) -> None:
        """The next call of an operation takes effect, and its answer is lost."""
        ...


def owner_of(number: int = 1, operator: str = "op-1", *, is_tagged: bool = True) -> Owner:
    """An owner; each number is another claim."""
    return Owner(
        operator_uid=f"{operator}-0000-0000",
        claim_uid=f"claim-{number:04d}",
        claim=f"default/machine-{number}",
        vm_name=f"machine-{number}",
        cluster="default/lab",
        is_tagged=is_tagged,
    )


def spec_of(number: int = 1) -> VMSpec:
    """The VM of an owner."""
    return VMSpec(f"machine-{number}", cpu=1, memory_bytes=GIB // 4, disk_bytes=4 * GIB)


async def wait(rig: Rig, task: TaskRef | None) -> TaskInfo | None:
    """Wait for a task."""
    while task is not None:
        info = await rig.hypervisor.task_status(task)
        if info.state != "running":
            return info
        await rig.pass_time()
    return None


async def make(rig: Rig, number: int = 1, *, vmid: int = 0) -> int:
    """A configured, stopped VM; returns its id."""
    hypervisor, owner = rig.hypervisor, owner_of(number)
    template = await hypervisor.validate_template(rig.template)
    if not vmid:
        vmid = await hypervisor.reserve_id(start=200, end=299, taken=frozenset())
    task = await hypervisor.clone_vm(
        template, spec_of(number), vmid=vmid, node=rig.node, linked=True, owner=owner
    )
    info = await wait(rig, task)
    assert info is None or info.state == "ok", info
    fresh = owner._replace(is_tagged=False)
    await wait(rig, await hypervisor.configure_vm(vmid, spec_of(number), owner=fresh))
    return vmid
