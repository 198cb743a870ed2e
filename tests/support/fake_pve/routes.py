"""What each path does, with the parameters that the real one knows and no others."""

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fake_pve.state import GIB, Refusal, State, Vm

_CONFIG = re.compile(
    r"(cores|sockets|memory|cpu|tags|description|name|agent|bios|machine|boot|onboot|delete|force|"
    r"efidisk0|tpmstate0|ciuser|sshkeys|ipconfig\d+|cicustom|(net|scsi|ide|virtio|sata)\d+)"
)
_CLONE = {
    "newid", "name", "full", "target", "storage", "format", "pool", "snapname", "description",
    "bwlimit",
}  # fmt: skip
_TAG = re.compile(r"[a-z0-9_][a-z0-9_\-+.]*", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass
class Call:
    """One request, taken apart."""

    state: State
    parts: tuple[str, ...]
    fields: dict[str, str]
    files: Mapping[str, bytes]

    @property
    def vm(self) -> Vm:
        return self.state.find(self.parts[0], int(self.parts[1]))

    def check(self, allowed: set[str] | re.Pattern[str]) -> None:
        for name in self.fields:
            known = name in allowed if isinstance(allowed, set) else allowed.fullmatch(name)
            if not known:
                text = "property is not defined in schema"
                raise Refusal(400, "Parameter verification failed.", {name: text})

    def need(self, name: str) -> str:
        if name not in self.fields:
            text = "property is missing and it is not optional"
            raise Refusal(400, "Parameter verification failed.", {name: text})
        return self.fields[name]


def version(call: Call) -> Any:
    return {"version": "8.4.1", "release": "8.4", "repoid": "2a5fa54a8503f96d"}


def nodes(call: Call) -> Any:
    return [
        {"node": name, "status": status, "type": "node"}
        | (
            {"maxcpu": 16, "maxmem": 64 * GIB, "mem": 4 * GIB, "cpu": 0.05}
            if status == "online"
            else {}
        )
        for name, status in call.state.nodes.items()
    ]


def resources(call: Call) -> Any:
    call.check({"type"})
    return call.state.rows()


def next_id(call: Call) -> Any:
    call.check({"vmid"})
    wanted = int(call.fields.get("vmid", "0"))
    if wanted in call.state.vms:
        raise Refusal(
            400, "Parameter verification failed.", {"vmid": f"VM {wanted} already exists"}
        )
    return str(wanted or next(n for n in range(100, 10**6) if n not in call.state.vms))


def storages(call: Call) -> Any:
    return [
        {
            "storage": each.name,
            "type": each.type,
            "content": each.content,
            "shared": int(each.is_shared),
            "active": 1,
            "enabled": 1,
            "avail": each.avail,
            "total": each.avail * 2,
        }
        for each in call.state.storages.values()
        if not each.nodes or call.parts[0] in each.nodes
    ]


def content(call: Call) -> Any:
    node, name = call.parts
    storage = call.state.storages[name]
    return [
        {"volid": volume, "content": "iso", "format": "iso", "size": len(data)}
        for (place, volume), data in storage.files.items()
        if place == storage.place(node)
    ]


def upload(call: Call) -> Any:
    node, name = call.parts
    storage = call.state.storages[name]
    if call.need("content") not in storage.content.split(","):
        raise Refusal(500, f"storage '{name}' does not support content type")
    ((file, data),) = call.files.items()
    if not file.endswith((".iso", ".img")):
        raise Refusal(400, "wrong file extension")

    def store() -> None:
        storage.files[storage.place(node), f"{name}:iso/{file}"] = data

    return call.state.begin(node, "imgcopy", 0, store)


def remove_content(call: Call) -> Any:
    node, name, volume = call.parts
    storage = call.state.storages[name]
    if storage.files.pop((storage.place(node), volume), None) is None:
        raise Refusal(500, f"unable to find volume '{volume}': no such resource")
    return call.state.begin(node, "imgdel", 0, lambda: None)


def clone(call: Call) -> Any:
    call.check(_CLONE)
    state, source, newid = call.state, call.vm, int(call.need("newid"))
    if newid in state.vms:
        raise Refusal(500, f"unable to create VM {newid}: config file already exists")
    if not _NAME.fullmatch(call.fields.get("name", "x")):
        raise Refusal(400, "Parameter verification failed.", {"name": "invalid DNS name"})
    node = call.fields.get("target", source.node)
    storage = source.config["scsi0"].partition(":")[0]
    if node != source.node and not state.storages[storage].is_shared:
        raise Refusal(500, f"can't clone to non-shared storage '{storage}'")
    is_full = call.fields.get("full", "0") == "1"
    if not is_full and state.storages[storage].type == "lvm":
        raise Refusal(500, "Linked clone feature is not supported for drive 'scsi0'")
    if "storage" in call.fields and not is_full:
        raise Refusal(400, "parameter 'storage' not allowed for linked clones")
    # the real one writes a temporary file first, and name and description when the disks are there
    text = {"lock": "clone", "description": "qmclone temporary file"}
    vm = state.vms[newid] = Vm(newid, node, dict(text), keys=source.keys)
    config = {k: v for k, v in source.config.items() if k not in ("template", "digest")}
    config["smbios1"] = f"uuid={uuid.uuid4()}"
    config["net0"] = f"virtio={state.new_mac()},bridge=vmbr0,firewall=1"
    config["name"] = call.fields.get("name", f"Copy-of-VM-{source.config['name']}")
    config["scsi0"] = f"{storage}:vm-{newid}-disk-0,size=2G"
    config["description"] = call.fields.get("description", "")

    def finish() -> None:
        vm.config = config

    return state.begin(source.node, "qmclone", newid, finish)


def read_config(call: Call) -> Any:
    found: dict[str, Any] = dict(call.vm.config)
    if found.get("description"):
        found["description"] += "\n"  # as the real one answers
    if found.get("tags"):
        found["tags"] = ";".join(sorted(found["tags"].lower().split(";")))
    for key in ("cores", "sockets", "template"):
        if key in found:
            found[key] = int(found[key])
    return {**found, "digest": "0" * 40}


def _write_config(call: Call) -> Callable[[], None]:
    call.check(_CONFIG)
    vm, fields = call.vm, call.fields
    call.state.check_unlocked(vm)
    for tag in filter(None, fields.get("tags", "").split(";")):
        if not _TAG.fullmatch(tag):
            raise Refusal(400, "Parameter verification failed.", {"tags": "invalid format"})
    for key, value in fields.items():
        if ":iso/" in value:
            _check_iso(call.state, vm.node, value.partition(",")[0])
        if key == "tpmstate0" and "version=v2.0" not in value:
            raise Refusal(400, "Parameter verification failed.", {key: "a 1.2 TPM"})
        if key == "efidisk0" and key in vm.config:
            raise Refusal(400, "Parameter verification failed.", {key: "there is one already"})

    def apply() -> None:
        for key in filter(None, fields.get("delete", "").split(",")):
            vm.config.pop(key, None)
            if key == "tpmstate0":
                vm.keys = ""
        for key, value in fields.items():
            if key == "tpmstate0":
                if "tpmstate0" not in vm.config:
                    vm.keys = uuid.uuid4().hex
                value = f"{value.partition(':')[0]}:vm-{vm.vmid}-disk-9,size=4M,version=v2.0"
            if key == "efidisk0":
                value = f"{value.partition(':')[0]}:vm-{vm.vmid}-disk-8,efitype=4m,size=4M"
            if key == "tags":
                value = value.lower()
            if key not in ("delete", "force"):
                vm.config[key] = value

    return apply


def _check_iso(state: State, node: str, volume: str) -> None:
    storage = state.storages[volume.partition(":")[0]]
    if (storage.place(node), volume) not in storage.files:
        raise Refusal(500, f"volume '{volume}' does not exist")


def put_config(call: Call) -> Any:
    _write_config(call)()


def post_config(call: Call) -> Any:
    vm = call.vm
    return call.state.begin(vm.node, "qmconfig", vm.vmid, _write_config(call))


def resize(call: Call) -> Any:
    call.check({"disk", "size"})
    vm, disk, size = call.vm, call.need("disk"), call.need("size")
    call.state.check_unlocked(vm)
    if disk not in vm.config or not re.fullmatch(r"\+?\d+[KMGT]?", size):
        raise Refusal(400, "Parameter verification failed.", {"disk": "no such disk"})

    def apply() -> None:
        vm.config[disk] = re.sub(r"size=[^,]*", f"size={size}", vm.config[disk])

    return call.state.begin(vm.node, "resize", vm.vmid, apply)


def current(call: Call) -> Any:
    vm = call.vm
    found: dict[str, Any] = {
        "vmid": vm.vmid,
        "name": vm.config.get("name", ""),
        "status": vm.status,
        "qmpstatus": vm.status,
        "uptime": vm.uptime,
    }
    return found | ({"lock": vm.config["lock"]} if "lock" in vm.config else {})


def power(call: Call) -> Any:
    verb = call.parts[2]
    call.check({"timeout", "forceStop", "skiplock"})
    vm, state = call.vm, call.state
    state.check_unlocked(vm)
    if verb in ("shutdown", "reboot", "reset") and vm.status != "running":
        raise Refusal(500, f"VM {vm.vmid} not running")

    def apply() -> None:
        vm.status = "running" if verb in ("start", "reboot", "reset") else "stopped"

    return state.begin(vm.node, f"qm{verb}", vm.vmid, apply)


def interfaces(call: Call) -> Any:
    vm = call.vm
    if vm.status != "running" or vm.vmid not in call.state.agents:
        raise Refusal(500, "QEMU guest agent is not running")
    found = [{"name": "lo", "ip-addresses": [{"ip-address": "127.0.0.1"}]}]
    addresses = [{"ip-address": each} for each in call.state.agents[vm.vmid]]
    return {"result": [*found, {"name": "eth0", "ip-addresses": addresses}]}


def destroy(call: Call) -> Any:
    call.check({"purge", "destroy-unreferenced-disks", "skiplock"})
    vm, state = call.vm, call.state
    if lock := vm.config.get("lock"):
        raise Refusal(500, f"VM is locked ({lock})")
    lost = f"can't lock file '/var/lock/qemu-server/lock-{vm.vmid}.conf' - got timeout"
    failure = lost if state.is_busy(vm.vmid) else ""
    if vm.status == "running" and not failure:
        raise Refusal(500, f"VM {vm.vmid} is running - destroy failed")

    def apply() -> None:
        state.vms.pop(vm.vmid, None)

    return state.begin(vm.node, "qmdestroy", vm.vmid, apply, failure=failure)


def task_status(call: Call) -> Any:
    task = call.state.poll(call.parts[1])
    found = {"upid": task.upid, "type": task.type, "id": str(task.vmid), "node": call.parts[0]}
    if task.is_done:
        return found | {"status": "stopped", "exitstatus": task.exitstatus}
    return found | {"status": "running"}


ROUTES: tuple[tuple[str, re.Pattern[str], Callable[[Call], Any]], ...] = tuple(
    (method, re.compile(pattern), handler)
    for method, pattern, handler in (
        ("GET", r"/version", version),
        ("GET", r"/nodes", nodes),
        ("GET", r"/cluster/resources", resources),
        ("GET", r"/cluster/nextid", next_id),
        ("GET", r"/nodes/([^/]+)/storage", storages),
        ("GET", r"/nodes/([^/]+)/storage/([^/]+)/content", content),
        ("POST", r"/nodes/([^/]+)/storage/([^/]+)/upload", upload),
        ("DELETE", r"/nodes/([^/]+)/storage/([^/]+)/content/([^/]+)", remove_content),
        ("POST", r"/nodes/([^/]+)/qemu/(\d+)/clone", clone),
        ("GET", r"/nodes/([^/]+)/qemu/(\d+)/config", read_config),
        ("PUT", r"/nodes/([^/]+)/qemu/(\d+)/config", put_config),
        ("POST", r"/nodes/([^/]+)/qemu/(\d+)/config", post_config),
        ("PUT", r"/nodes/([^/]+)/qemu/(\d+)/resize", resize),
        ("GET", r"/nodes/([^/]+)/qemu/(\d+)/status/current", current),
        ("POST", r"/nodes/([^/]+)/qemu/(\d+)/status/(start|stop|shutdown|reboot|reset)", power),
        ("GET", r"/nodes/([^/]+)/qemu/(\d+)/agent/network-get-interfaces", interfaces),
        ("DELETE", r"/nodes/([^/]+)/qemu/(\d+)", destroy),
        ("GET", r"/nodes/([^/]+)/tasks/([^/]+)/status", task_status),
    )
)
