"""Free ids. `nextid` is no reservation: two who ask at once are told the same number.

Ids are given out under a lock, and not given out again for a while, so that those who ask at once
get different ones. Another operator on the same range may still take one first; the clone then
fails with "already exists" and its claim chooses another.
"""

import asyncio

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.proxmox.api import Api
from quarterdeck.operators.machines.drivers.proxmox.inventory import Inventory
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error

_KEEP_S = 30.0
"""How long an id that was given out is left alone; by then its clone has begun."""
_TRIES = 32


class Identifiers:
    """Gives out ids."""

    def __init__(self, api: Api, inventory: Inventory, *, clock: Clock) -> None:
        self._api = api
        self._inventory = inventory
        self._clock = clock
        self._lock = asyncio.Lock()
        self._given: dict[int, float] = {}

    async def reserve(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """The lowest id that is free.

        Raises:
            ResourceError: IDS_EXHAUSTED.
        """
        async with self._lock:
            now = self._clock.monotonic()
            self._given = {vmid: at for vmid, at in self._given.items() if now - at < _KEEP_S}
            used = (
                {row.vmid for row in await self._inventory.resources()} | taken | set(self._given)
            )
            for _ in range(_TRIES):
                vmid = next((each for each in range(start, end + 1) if each not in used), 0)
                if not vmid:
                    break
                if await self._is_free(vmid):
                    self._given[vmid] = now
                    return vmid
                used.add(vmid)
        raise make_error(
            Code.IDS_EXHAUSTED,
            f"no free id in {start}-{end}; extend spec.vmidRange",
            operation="reserve_id",
        )

    async def _is_free(self, vmid: int) -> bool:
        """Ask the server too: it knows VMs that our credentials may not see."""
        try:
            await self._api.get("/cluster/nextid", str, {"vmid": vmid})
        except HypervisorError as error:
            if error.code in (Code.ALREADY_EXISTS, Code.INVALID_SPEC):
                return False
            raise
        return True
