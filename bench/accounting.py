"""What any process has used so far, seen from outside: processor time and memory (Linux)."""

import os
import time

_SCHEDULER_CLOCK = 2
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_s(pid: int) -> float:
    """Processor seconds of all its threads, to the nanosecond where the kernel tells."""
    clock = (~pid << 3) | _SCHEDULER_CLOCK  # how Linux names the clock of another process
    try:
        return time.clock_gettime(clock)
    except OSError:
        return _ticked_s(pid)


def _ticked_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    """Memory it holds now, or with `VmHWM` at most so far."""
    with open(f"/proc/{pid}/status") as file:
        for row in file:
            if row.startswith(f"{field}:"):
                return int(row.split()[1]) * 1024
    return 0
