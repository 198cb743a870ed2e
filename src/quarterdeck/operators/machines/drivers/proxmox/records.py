"""Types of Proxmox VE's responses, with the fields that are used. Numbers may be strings."""

from typing import Any

import msgspec

from quarterdeck.operators.machines.errors import Code, make_error


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """GET /version."""

    version: str
    release: str = ""


class Ticket(msgspec.Struct, frozen=True, kw_only=True, rename={"csrf": "CSRFPreventionToken"}):
    """POST /access/ticket."""

    ticket: str
    csrf: str


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of GET /nodes."""

    node: str
    status: str = "unknown"
    maxcpu: int = 0
    maxmem: int = 0
    mem: int = 0


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A row of GET /cluster/resources?type=vm: VMs and containers, which share their ids."""

    vmid: int
    node: str
    type: str = "qemu"
    name: str = ""
    status: str = "unknown"
    template: int = 0
    tags: str = ""
    lock: str = ""
    maxcpu: float = 0
    maxmem: int = 0
    uptime: float = 0


class StorageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of GET /nodes/{node}/storage."""

    storage: str
    type: str = ""
    content: str = ""
    shared: int = 0
    active: int = 1
    enabled: int = 1
    avail: int = 0

    def holds(self, content: str) -> bool:
        """Whether it is usable for a kind of content."""
        return bool(self.active and self.enabled) and content in self.content.split(",")


class ContentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of GET /nodes/{node}/storage/{storage}/content."""

    volid: str


class CurrentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """GET /nodes/{node}/qemu/{vmid}/status/current."""

    status: str = "unknown"
    qmpstatus: str = ""
    lock: str = ""
    uptime: float = 0


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """GET /nodes/{node}/tasks/{upid}/status."""

    status: str
    exitstatus: str = ""


class AgentAddress(msgspec.Struct, frozen=True, kw_only=True, rename={"address": "ip-address"}):
    """An address as the guest agent reports it."""

    address: str = ""


class AgentInterface(
    msgspec.Struct, frozen=True, kw_only=True, rename={"addresses": "ip-addresses"}
):
    """An interface as the guest agent reports it."""

    name: str = ""
    addresses: tuple[AgentAddress, ...] = ()


class AgentInterfaces(msgspec.Struct, frozen=True, kw_only=True):
    """GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces."""

    result: tuple[AgentInterface, ...] = ()


Config = dict[str, str]
"""GET /nodes/{node}/qemu/{vmid}/config, every value as text."""


def parse_config(data: dict[str, Any]) -> Config:
    """A configuration with every value as text."""
    return {key: str(value) for key, value in data.items()}


class Upid(msgspec.Struct, frozen=True, kw_only=True):
    """The id of a task: UPID:node:pid:pstart:starttime:type:id:user: and nothing more."""

    node: str
    type: str
    id: str

    @classmethod
    def parse(cls, text: str) -> "Upid":
        """Parse the id of a task.

        Raises:
            TransientError: TASK_UNKNOWN if it is malformed, as for a forgotten task.
        """
        fields = text.split(":")
        if len(fields) != 9 or fields[0] != "UPID" or not fields[1]:
            raise make_error(Code.TASK_UNKNOWN, f"{text!r} is not the id of a task")
        return cls(node=fields[1], type=fields[5], id=fields[6])
