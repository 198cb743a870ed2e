"""Settings of a simulated hypervisor."""

from collections.abc import Mapping

import msgspec

GIB = 1024**3
LATENCIES: Mapping[str, tuple[float, float]] = {
    "clone_vm": (2.0, 8.0),
    "power_on": (1.0, 3.0),
    "power_off": (0.2, 1.0),
    "power_shutdown": (1.0, 3.0),
    "delete_vm": (0.5, 2.0),
}
"""Least and most seconds that tasks take; operations not listed here end at once."""


class SimulatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Size and speed of a simulated hypervisor."""

    seed: int = 0
    """The same seed and the same calls give the same world."""
    nodes: int = 3
    """Nodes, named sim-1, sim-2 and so on."""
    cpu: int = 64
    """Processors of each node."""
    memory_gib: int = 256
    """Memory of each node."""
    storage_gib: int = 8192
    """Storage of each node."""
    templates: Mapping[str, int] = msgspec.field(default_factory=lambda: {"simulated": 9000})
    """Ids of templates, by name."""
    latencies: Mapping[str, tuple[float, float]] = msgspec.field(
        default_factory=lambda: dict(LATENCIES)
    )
    """Least and most seconds that tasks take, by operation."""
    scale: float = 1.0
    """Factor of all latencies but the boot time; with 0 every task ends at once."""
    boot_s: tuple[float, float] = (2.0, 5.0)
    """Seconds from the start of a VM until its address is seen."""
