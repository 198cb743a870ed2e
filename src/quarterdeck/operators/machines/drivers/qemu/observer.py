"""Observes local VMs: their processes, power states, and whether their guests have booted."""

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.qemu import process, qmp
from quarterdeck.operators.machines.drivers.qemu.command import LOOPBACK
from quarterdeck.operators.machines.drivers.qemu.folder import Folder, VmRecord
from quarterdeck.operators.machines.drivers.qemu.guest import USER_ADDRESS, is_network_up
from quarterdeck.operators.machines.errors import HypervisorError
from quarterdeck.operators.machines.machine import Power, VMInfo

_STATES = {
    "running": Power.RUNNING,
    "paused": Power.PAUSED,
    "prelaunch": Power.PAUSED,
    "suspended": Power.SUSPENDED,
    "shutdown": Power.STOPPED,
}


class VmObserver:
    """Reads the state of the VMs of one folder; changes nothing."""

    def __init__(self, folder: Folder, *, node: str, clock: Clock) -> None:
        self._folder = folder
        self._node = node
        self._clock = clock
        self._booted: dict[int, int] = {}
        """PIDs of the VMs whose guests have booted, by VM id."""

    def is_running(self, record: VmRecord) -> bool:
        """Whether a VM has a process."""
        return self._find_pid(record) != 0

    async def describe_process(self, record: VmRecord) -> VMInfo:
        """Describe a VM by its process, without the state in QEMU: cheap enough for every VM."""
        power = self._read_power_by_process(record)
        return self.describe(record, power, has_booted=await self._has_booted(record))

    async def query(self, record: VmRecord) -> VMInfo:
        """Describe a VM with the state that QEMU reports, which may be paused or suspended."""
        power = self._read_power_by_process(record)
        if power is Power.RUNNING:
            power = await self._query_power(record)
        return self.describe(record, power, has_booted=await self._has_booted(record))

    def describe(
        self, record: VmRecord, power: Power = Power.UNKNOWN, *, has_booted: bool = False
    ) -> VMInfo:
        """Describe a VM by its record; with addresses only if it runs."""
        is_running = power is Power.RUNNING
        return VMInfo(
            id=record.id,
            name=record.name,
            uuid=record.uuid,
            node=self._node,
            power=power,
            ips=(USER_ADDRESS,) if is_running and has_booted else (),
            ssh_address=f"{LOOPBACK}:{record.ssh_port}" if is_running and record.ssh_port else "",
            mac=record.mac,
            tags=record.tags,
            description=record.description,
            uptime_s=self._compute_uptime_s(record) if is_running else 0.0,
            cpu=record.cpu,
            memory_bytes=record.memory_bytes,
        )

    def _find_pid(self, record: VmRecord) -> int:
        return process.find_pid(self._folder.at(record.id), record.uuid)

    def _read_power_by_process(self, record: VmRecord) -> Power:
        return Power.RUNNING if self.is_running(record) else Power.STOPPED

    async def _query_power(self, record: VmRecord) -> Power:
        try:
            answer = await qmp.execute(self._folder.at(record.id).path, "query-status")
        except qmp.Gone:
            return self._read_power_by_process(record)
        except HypervisorError:
            return Power.UNKNOWN
        return _STATES.get(answer["status"], Power.UNKNOWN) if answer else Power.STOPPED

    async def _has_booted(self, record: VmRecord) -> bool:
        """Whether the guest of a running VM has brought its network up; cached per process."""
        number = self._find_pid(record)
        if number and self._booted.get(record.id) != number:
            try:
                answer = await qmp.execute(self._folder.at(record.id).path, "query-rx-filter")
            except (qmp.Gone, HypervisorError):
                return False
            if not is_network_up(answer):
                return False
            self._booted[record.id] = number
        return number != 0

    def _compute_uptime_s(self, record: VmRecord) -> float:
        try:
            started = self._folder.at(record.id).pid.stat().st_mtime
        except FileNotFoundError:
            return 0.0
        return max(0.0, self._clock.now().timestamp() - started)
