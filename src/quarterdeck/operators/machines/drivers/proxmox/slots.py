"""Limits how many clones run at once, per node and per storage.

Clones take long and hold locks on the storage; too many at once end in `can't lock file ... got
timeout`. A clone occupies its places from the request to the end of its task, not only while the
request lasts. A call that waits for a place checks the tasks that occupy it, so that the place is
freed even if no other call checks those tasks.
"""

from collections.abc import Awaitable, Callable, Iterable

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error

_POLL_S = 1.0
_LONGEST_WAIT_S = 60.0
IsRunning = Callable[[str], Awaitable[bool]]


class Slots:
    """Slots for clones; a clone takes one slot of each place, which is a node or a storage."""

    def __init__(self, limit: int, *, clock: Clock, is_running: IsRunning) -> None:
        self._limit = max(1, limit)
        self._clock = clock
        self._is_running = is_running
        self._held: dict[int, tuple[frozenset[str], str]] = {}

    async def acquire(self, vmid: int, places: Iterable[str]) -> None:
        """Acquire all places for a VM together: a clone that waits for one occupies no other.

        Raises:
            TransientError: LOCKED if they stay taken for a minute.
        """
        wanted = frozenset(places)
        deadline = self._clock.monotonic() + _LONGEST_WAIT_S
        while full := self._find_full(wanted):
            if self._clock.monotonic() >= deadline:
                raise make_error(
                    Code.LOCKED,
                    f"{self._limit} clones run on {full} already",
                    operation="clone_vm",
                    retry_after_s=10.0,
                )
            if not await self._free_ended(full):
                await self._clock.sleep(_POLL_S)
        self._held[vmid] = (wanted, "")  # nothing was awaited since the places were seen free

    def record_task(self, vmid: int, task: str) -> None:
        """Record the task of a VM's clone; an empty task frees its slots."""
        if vmid in self._held and task:
            self._held[vmid] = (self._held[vmid][0], task)
        else:
            self.release(vmid)

    def release(self, vmid: int) -> None:
        """Free the slots of a VM."""
        self._held.pop(vmid, None)

    def release_task(self, task: str) -> None:
        """Free the slots of a clone whose task has ended."""
        for vmid, (_, held) in list(self._held.items()):
            if held == task:
                self.release(vmid)

    def statistics(self) -> dict[str, int]:
        """The number of clones that occupy each place."""
        counts: dict[str, int] = {}
        for places, _ in self._held.values():
            for place in places:
                counts[place] = counts.get(place, 0) + 1
        return counts

    def _find_full(self, wanted: frozenset[str]) -> str:
        counts = self.statistics()
        return min((place for place in wanted if counts.get(place, 0) >= self._limit), default="")

    async def _free_ended(self, place: str) -> bool:
        """Free the slots of tasks on a place that have ended; returns whether there were any."""
        tasks = [task for places, task in self._held.values() if place in places and task]
        has_freed = False
        for task in tasks:
            try:
                is_running = await self._is_running(task)
            except HypervisorError as error:
                is_running = error.code is not Code.TASK_UNKNOWN
            if not is_running:
                self.release_task(task)
                has_freed = True
        return has_freed
