"""Whole lives of machines on a Proxmox VE whose requests and tasks fail at random, from a seed.

Whatever fails, and whatever was lost on the way: at the end nothing of ours is left, nothing of
others was touched, and no id had two VMs.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fake_pve import FakePve, Fault
from tests.contract.hypervisor.proxmox_rig import settings_of
from tests.contract.hypervisor.rig import owner_of, spec_of

from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.proxmox import ProxmoxProvider
from quarterdeck.operators.machines.errors import Code, HypervisorError, TransientError
from quarterdeck.operators.machines.machine import (
    CloudInit,
    Power,
    PowerAction,
    TaskRef,
    TaskState,
    TemplateRef,
    VMInfo,
)

RUNS = 200 if os.environ.get("QUARTERDECK_FULL") else 12
TRIES = 400
REFUSALS = (
    (500, "can't lock file '/var/lock/qemu-server/lock-1.conf' - got timeout"),
    (595, "No route to host"),
    (500, "something that nobody has seen before"),
    (0, ""),
)
TASKS = ("qmclone", "qmconfig", "qmstart", "qmstop", "qmdestroy", "imgcopy", "resize")
SEED = CloudInit("#cloud-config\n", "instance-id: a\n")


class Unreliable(FakePve):
    """Fails one request in eight, before or after it took effect, and many a task.

    Tasks end by themselves too: nobody asks for one whose answer was lost.
    """

    rng = random.Random(0)

    def take_fault(self, entry: str, *, is_after: bool) -> Fault | None:
        for task in list(self.state.tasks.values()):
            if not is_after and self.rng.random() < 1 / 8:
                self.state.end(task)
        if self.rng.random() < 1 / 12:
            self.state.failing[self.rng.choice(TASKS)] = "got timeout"
        if self.rng.random() > 1 / 16:
            return None
        status, reason = self.rng.choice(REFUSALS)
        return Fault("", status, reason)


class QuickClock(SystemClock):
    """Time passes only for those who sleep."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def monotonic(self) -> float:
        return self.elapsed

    async def sleep(self, seconds: float) -> None:
        self.elapsed += seconds
        await asyncio.sleep(0)


class Life:
    """What the operator does with one machine, and tries again until it is done."""

    def __init__(self, provider: ProxmoxProvider, number: int) -> None:
        self.provider = provider
        self.number = number
        self.owner = owner_of(number)
        self.fresh = self.owner._replace(is_tagged=False)
        self.vmid = 0

    async def insist(self, call: Callable[[], Awaitable[TaskRef | None]]) -> None:
        for _ in range(TRIES):
            try:
                if await self.finish(await call()):
                    return
            except TransientError:
                continue
        pytest.fail(f"machine {self.number} made no progress")

    async def finish(self, task: TaskRef | None) -> bool:
        while task is not None:
            info = await self.provider.task_status(task)
            if info.state is not TaskState.RUNNING:
                return info.state is TaskState.OK
        return True

    async def make(self) -> None:
        nobody: frozenset[int] = frozenset()

        async def clone() -> TaskRef | None:
            template = await self.provider.validate_template(TemplateRef(id=9000))
            if not self.vmid:
                self.vmid = await self.provider.reserve_id(start=200, end=260, taken=nobody)
            try:
                return await self.provider.clone_vm(
                    template,
                    spec_of(self.number),
                    vmid=self.vmid,
                    node="pve1",
                    linked=True,
                    owner=self.owner,
                )
            except HypervisorError as error:
                if error.code is not Code.ALREADY_EXISTS:
                    raise
            vm = await self.find()
            if not ownership.is_owned(vm, self.fresh):
                self.vmid = 0
                return await clone()
            if vm.lock:
                raise TransientError(Code.LOCKED, "still being cloned")
            return None

        await self.insist(clone)
        spec = spec_of(self.number)
        await self.insist(lambda: self.provider.configure_vm(self.vmid, spec, owner=self.fresh))
        await self.insist(self.seed)

    async def find(self) -> VMInfo:
        try:
            return await self.provider.get_vm(self.vmid)
        except HypervisorError as error:
            if error.code is not Code.NOT_FOUND:
                raise
            raise TransientError(Code.CONFLICT, "an earlier clone has just failed") from error

    async def seed(self) -> TaskRef | None:
        await self.provider.inject_cloud_init(self.vmid, SEED, owner=self.owner)
        return None

    async def switch(self, action: PowerAction, wanted: Power) -> None:
        async def act() -> TaskRef | None:
            return await self.provider.power(self.vmid, action, owner=self.owner)

        await self.insist(act)
        for _ in range(TRIES):
            try:
                vm = await self.provider.get_vm(self.vmid)
            except TransientError:
                continue
            assert (vm.power, vm.name) == (wanted, self.owner.vm_name)
            return

    async def destroy(self) -> None:
        await self.insist(lambda: self.provider.delete_vm(self.vmid, owner=self.owner))


@pytest.mark.parametrize("number", range(RUNS))
async def test_nothing_is_left_and_nothing_else_is_touched(tmp_path: Path, number: int) -> None:
    fake = Unreliable(tmp_path)
    fake.rng = random.Random(number)
    fake.state.add_template(9000, "debian-12")
    for vmid in (200, 203, 204):
        fake.state.add_template(vmid, f"database-{vmid}").config["template"] = "0"
    before = {vmid: dict(vm.config) for vmid, vm in fake.state.vms.items()}
    with fake.running():
        settings = settings_of(fake, clock=QuickClock(), max_concurrent_operations=1)
        provider = ProxmoxProvider(settings)
        try:
            lives = [Life(provider, each) for each in range(1, 4)]
            await asyncio.gather(*(life.make() for life in lives))
            assert len({life.vmid for life in lives}) == len(lives)
            for life in lives:
                await life.switch(PowerAction.ON, Power.RUNNING)
                await life.switch(PowerAction.OFF, Power.STOPPED)
                await life.destroy()
        finally:
            await provider.aclose()
    assert {vmid: vm.config for vmid, vm in fake.state.vms.items()} == before
    assert fake.state.storages["local"].files == {}
