"""Reserves free VM ids, because `nextid` may return the same number to concurrent calls.

Ids are reserved under a lock, and not reserved again for a while, so that concurrent calls get
different ones. Another operator on the same range may still take one first; the clone then
fails with "already exists" and its claim chooses another.
"""

import asyncio

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.proxmox.inventory import Inventory
from quarterdeck.operators.machines.errors import Code, make_error

_KEEP_S = 30.0
"""How long an id stays reserved; its clone has started by then."""
_TRIES = 32
"""How many ids are asked for in one call."""
_HIDDEN_S = 600.0
"""How long an id that the server reports as taken is not asked for again."""
_SOON_S = 1.0


class Identifiers:
    """Reserves VM ids."""

    def __init__(self, inventory: Inventory, *, clock: Clock) -> None:
        self._inventory = inventory
        self._clock = clock
        self._lock = asyncio.Lock()
        self._given: dict[int, float] = {}
        self._hidden: dict[int, float] = {}
        """When ids were found to be taken by VMs that the credentials may not see."""

    async def reserve(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """Reserve the lowest free id.

        Raises:
            ResourceError: IDS_EXHAUSTED.
            TransientError: LOCKED if so many ids are taken by hidden VMs that the search goes on
                with the next call.
        """
        async with self._lock:
            now = self._clock.monotonic()
            self._given = {vmid: at for vmid, at in self._given.items() if now - at < _KEEP_S}
            self._hidden = {vmid: at for vmid, at in self._hidden.items() if now - at < _HIDDEN_S}
            listed = {row.vmid for row in await self._inventory.list_resources()}
            used = listed | taken | self._given.keys() | self._hidden.keys()
            for _ in range(_TRIES):
                vmid = next((each for each in range(start, end + 1) if each not in used), 0)
                if not vmid:
                    break
                if await self._inventory.is_free(vmid):
                    self._given[vmid] = now
                    return vmid
                self._hidden[vmid] = now
                used.add(vmid)
            else:
                raise make_error(
                    Code.LOCKED,
                    f"the ids up to {vmid} belong to VMs that the credentials may not see; the "
                    "search goes on, and spec.vmidRange avoids it",
                    operation="reserve_id",
                    retry_after_s=_SOON_S,
                )
        raise make_error(
            Code.IDS_EXHAUSTED,
            f"no free id in {start}-{end}; extend spec.vmidRange",
            operation="reserve_id",
        )
