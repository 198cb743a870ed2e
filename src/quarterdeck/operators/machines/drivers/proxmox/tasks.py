"""Tasks of Proxmox VE: most changes only start one, and its exit status is the result."""

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.proxmox.api import Api, build_path
from quarterdeck.operators.machines.drivers.proxmox.failure import classify
from quarterdeck.operators.machines.drivers.proxmox.inventory import Inventory, Location
from quarterdeck.operators.machines.drivers.proxmox.records import TaskStatus, Upid
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import TaskInfo, TaskState

_POLL_S = 0.2
_POLL_MAX_S = 2.0
_LONGEST_S = 90.0
_STARTS = ("qmstart", "qmreboot")


class Tasks:
    """Reads tasks, and waits for the short ones inside a call."""

    def __init__(self, api: Api, inventory: Inventory, *, clock: Clock) -> None:
        self._api = api
        self._inventory = inventory
        self._clock = clock

    async def read(self, task: str) -> TaskInfo:
        """The state of a task; a failed start of a VM that runs counts as done.

        Raises:
            TransientError: TASK_UNKNOWN if the server has forgotten it.
        """
        upid = Upid.parse(task)
        found = await self._fetch(upid, task)
        if found.status == "running":
            return TaskInfo(TaskState.RUNNING)
        shown = self._api.mask(found.exitstatus)
        if found.exitstatus == "OK" or found.exitstatus.startswith("WARNINGS"):
            return TaskInfo(TaskState.OK, "" if found.exitstatus == "OK" else shown)
        if upid.type in _STARTS and await self._runs(upid):
            text = f"the start reported a failure, but the VM runs: {shown}"
            return TaskInfo(TaskState.OK, text)
        return TaskInfo(TaskState.FAILED, shown or "the task ended without a result")

    async def is_running(self, task: str) -> bool:
        """Whether a task is still under way."""
        return (await self._fetch(Upid.parse(task), task)).status == "running"

    async def finish(self, task: str) -> None:
        """Wait until a short task ends; returns at once for an empty id.

        Raises:
            HypervisorError: in the class that the exit status of the task implies.
        """
        delay, deadline = _POLL_S, self._clock.monotonic() + _LONGEST_S
        while task:
            info = await self.read(task)
            if info.state is TaskState.OK:
                return
            if info.state is TaskState.FAILED:
                raise make_error(classify(500, info.message), f"task failed: {info.message}")
            if self._clock.monotonic() > deadline:
                raise make_error(Code.TIMEOUT, f"task {task} has not ended in {_LONGEST_S:.0f} s")
            await self._clock.sleep(delay)
            delay = min(delay * 1.5, _POLL_MAX_S)

    async def _fetch(self, upid: Upid, task: str) -> TaskStatus:
        path = build_path("nodes", upid.node, "tasks", task, "status")
        try:
            return await self._api.get(path, TaskStatus)
        except HypervisorError as error:
            if error.code in (Code.NOT_FOUND, Code.INVALID_SPEC):
                raise make_error(Code.TASK_UNKNOWN, error.message) from error
            raise

    async def _runs(self, upid: Upid) -> bool:
        """Whether the VM of a task runs; a start that failed may have started it."""
        if not upid.id.isdigit():
            return False
        try:
            at = Location(int(upid.id), upid.node)
            return (await self._inventory.read_status(at)).status == "running"
        except HypervisorError as error:
            if error.code is Code.NOT_FOUND:
                return False
            raise
