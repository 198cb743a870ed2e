"""What the fake hypervisor has: nodes, storages, VMs, tasks."""

import itertools
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

GIB = 1 << 30
USER = "hf@pve!op"


class Refusal(Exception):
    """An answer that is none of 2xx; the text goes into the reason phrase."""

    def __init__(self, status: int, reason: str, errors: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.errors = status, reason, errors or {}


@dataclass
class Vm:
    vmid: int
    node: str
    config: dict[str, str]
    status: str = "stopped"
    uptime: int = 0
    keys: str = ""
    """What the state of the vTPM holds; a clone copies it."""

    @property
    def is_template(self) -> bool:
        return self.config.get("template") == "1"


@dataclass
class Storage:
    name: str
    type: str
    content: str
    is_shared: bool = False
    nodes: tuple[str, ...] = ()
    avail: int = 500 * GIB
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """By node (empty if shared) and volume."""

    def place(self, node: str) -> str:
        return "" if self.is_shared else node


@dataclass
class Task:
    upid: str
    vmid: int
    type: str
    effect: Callable[[], None]
    polls: int
    failure: str = ""
    is_done: bool = False

    @property
    def exitstatus(self) -> str:
        return self.failure or "OK"


class State:
    """The whole hypervisor; the server holds its lock around every request."""

    def __init__(self, nodes: tuple[str, ...] = ("pve1", "pve2")) -> None:
        self.nodes = dict.fromkeys(nodes, "online")
        self.silence = "No route to host"
        """What is answered for a node that is not online."""
        self.storages = {
            "local": Storage("local", "dir", "iso,vztmpl,backup"),
            "local-lvm": Storage("local-lvm", "lvmthin", "images,rootdir"),
        }
        self.vms: dict[int, Vm] = {}
        self.hidden: set[int] = set()
        """Ids of VMs that the credentials may not see."""
        self.tasks: dict[str, Task] = {}
        self.polls = 2
        """How often a task is asked for before it has ended."""
        self.failing: dict[str, str] = {}
        """How the next task of a type ends."""
        self.started_anyway = False
        """A start that reports a failure takes effect all the same."""
        self.agents: dict[int, list[str]] = {}
        """Addresses that guest agents report."""
        self.most_clones = 0
        """The largest number of clones that ran at once."""
        self._numbers = itertools.count(1)

    def add_template(self, vmid: int, name: str, *, node: str = "pve1", **config: str) -> Vm:
        base = {
            "name": name,
            "template": "1",
            "cores": "1",
            "memory": "512",
            "boot": "order=scsi0;net0",
            "scsi0": f"local-lvm:base-{vmid}-disk-0,size=2G",
            "net0": f"virtio={self.new_mac()},bridge=vmbr0,firewall=1",
            "smbios1": f"uuid={uuid.uuid4()}",
            "ostype": "l26",
            "agent": "1",
        }
        vm = self.vms[vmid] = Vm(vmid, node, {**base, **config})
        return vm

    def new_mac(self) -> str:
        return f"BC:24:11:00:{next(self._numbers) // 256:02X}:{next(self._numbers) % 256:02X}"

    def find(self, node: str, vmid: int) -> Vm:
        vm = self.vms.get(vmid)
        if vm is None or vm.node != node:
            raise Refusal(
                500, f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"
            )
        if self.nodes.get(node) != "online":
            raise Refusal(595, self.silence)
        return vm

    def begin(
        self, node: str, type: str, vmid: int, effect: Callable[[], None], *, failure: str = ""
    ) -> str:
        number = next(self._numbers)
        upid = f"UPID:{node}:{number:08X}:{number:08X}:{int(time.time()):08X}:{type}:{vmid}:{USER}:"
        failure = failure or self.failing.pop(type, "")
        self.tasks[upid] = Task(upid, vmid, type, effect, self.polls, failure)
        self.most_clones = max(self.most_clones, self.count_running("qmclone"))
        return upid

    def count_running(self, type: str) -> int:
        return sum(not task.is_done and task.type == type for task in self.tasks.values())

    def poll(self, upid: str) -> Task:
        task = self.tasks.get(upid)
        if task is None:
            raise Refusal(500, "no such task")
        task.polls -= 1
        if task.polls <= 0:
            self.end(task)
        return task

    def end(self, task: Task) -> None:
        if task.is_done:
            return
        task.is_done = True
        if not task.failure or (task.type == "qmstart" and self.started_anyway):
            task.effect()
        elif task.type == "qmclone":
            self.vms.pop(task.vmid, None)

    def is_busy(self, vmid: int) -> bool:
        return any(not task.is_done and task.vmid == vmid for task in self.tasks.values())

    def check_unlocked(self, vm: Vm) -> None:
        if lock := vm.config.get("lock"):
            raise Refusal(500, f"VM is locked ({lock})")
        if self.is_busy(vm.vmid):
            raise Refusal(
                500, f"can't lock file '/var/lock/qemu-server/lock-{vm.vmid}.conf' - got timeout"
            )

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for vm in self.vms.values():
            if vm.vmid in self.hidden:
                continue
            row: dict[str, Any] = {
                "id": f"qemu/{vm.vmid}",
                "type": "qemu",
                "vmid": vm.vmid,
                "node": vm.node,
                "name": vm.config.get("name", f"VM {vm.vmid}"),
                "status": vm.status if self.nodes[vm.node] == "online" else "unknown",
                "template": int(vm.is_template),
                "maxcpu": int(vm.config.get("cores", "1")),
                "maxmem": int(vm.config.get("memory", "512")) << 20,
                "uptime": vm.uptime,
            }
            for key in ("tags", "lock"):
                if key in vm.config:
                    row[key] = vm.config[key]
            found.append(row)
        return found
