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


def pin(pid: int, core: int) -> None:
    """Keep all threads of a process on one core, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    if core < len(allowed):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {allowed[core]})


def descriptors(pid: int) -> int:
    """How many files and sockets it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def private_bytes(pid: int) -> int:
    """Memory it shares with no other process now: what one more of its kind takes."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        rows = [row.split() for row in file if row.startswith("Private_")]
    return sum(int(row[1]) for row in rows if row[0] != "Private_Hugetlb:") * 1024


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    """Memory it holds now, or with `VmHWM` at most so far."""
    with open(f"/proc/{pid}/status") as file:
        for row in file:
            if row.startswith(f"{field}:"):
                return int(row.split()[1]) * 1024
    return 0
