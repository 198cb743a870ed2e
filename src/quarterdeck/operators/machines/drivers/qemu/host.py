"""The host that VMs of local QEMU run on: its size and its free ports."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from quarterdeck.operators.machines.drivers.qemu.folder import VmRecord
from quarterdeck.operators.machines.machine import Node


def build_node(name: str, records: Sequence[VmRecord], folder: Path) -> Node:
    """This host as a node, less the capacity reserved for its VMs."""
    cpus, memory = os.cpu_count() or 1, read_memory()
    return Node(
        name,
        is_online=True,
        cpu_total=cpus,
        cpu_free=max(0, cpus - sum(record.cpu for record in records)),
        memory_total=memory,
        memory_free=max(0, memory - sum(record.memory_bytes for record in records)),
        storage_free=shutil.disk_usage(folder).free,
        vms=len(records),
    )


def read_memory(path: Path = Path("/proc/meminfo")) -> int:
    """The memory of this host in bytes."""
    for line in path.read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 0
