"""How many clones run at once, per node and per storage.

Clones take long and hold locks on the storage; too many at once end in `can't lock file ... got
timeout`. A clone occupies its places from the request to the end of its task, not only while the
request lasts. Whoever waits looks at the tasks that are in the way, so that places are freed even
if nobody else asks for those tasks any more.
"""

from collections.abc import Awaitable, Callable, Iterable

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error

_POLL_S = 1.0
_LONGEST_WAIT_S = 60.0
IsRunning = Callable[[str], Awaitable[bool]]


class Slots:
    """Places for clones; each clone takes one on every place name it is given."""

    def __init__(self, limit: int, *, clock: Clock, is_running: IsRunning) -> None:
        self._limit = max(1, limit)
        self._clock = clock
        self._is_running = is_running
        self._held: dict[int, tuple[frozenset[str], str]] = {}

    async def acquire(self, vmid: int, places: Iterable[str]) -> None:
        """Take the places for a VM; whoever waits for one place holds up nobody at another.

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

    def started(self, vmid: int, task: str) -> None:
        """The task of the VM's clone; without a task the places are free again."""
        if vmid in self._held and task:
            self._held[vmid] = (self._held[vmid][0], task)
        else:
            self.release(vmid)

    def release(self, vmid: int) -> None:
        """Free the places of a VM."""
        self._held.pop(vmid, None)

    def ended(self, task: str) -> None:
        """Free the places of a task that was seen to have ended."""
        for vmid, (_, held) in list(self._held.items()):
            if held == task:
                self.release(vmid)

    def statistics(self) -> dict[str, int]:
        """How many clones hold each place."""
        counts: dict[str, int] = {}
        for places, _ in self._held.values():
            for place in places:
                counts[place] = counts.get(place, 0) + 1
        return counts

    def _find_full(self, wanted: frozenset[str]) -> str:
        counts = self.statistics()
        return min((place for place in wanted if counts.get(place, 0) >= self._limit), default="")

    async def _free_ended(self, place: str) -> bool:
        """Look at the tasks on a place; whether one of them has ended."""
        tasks = [task for places, task in self._held.values() if place in places and task]
        has_freed = False
        for task in tasks:
            try:
                is_running = await self._is_running(task)
            except HypervisorError as error:
                is_running = error.code is not Code.TASK_UNKNOWN
            if not is_running:
                self.ended(task)
                has_freed = True
        return has_freed
