"""The policies in force, kept up to date: read again when one changes, and every now and then.

While the store does not answer, the last known policies hold; before they were read once, nobody
sees anything.
"""

import asyncio
from datetime import datetime

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.policy_reads import read_policies
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.access.viewer import PolicySet, Viewer
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.hub.errors import Unavailable

REFRESH_S = 30.0
_RETRY_S = 2.0
_log = get_logger("services.hub.policies")


class Policies:
    """What everybody may see."""

    def __init__(self, state: StateStore, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._set: PolicySet | None = None
        self._stale = asyncio.Event()

    async def run(self) -> None:
        """Follow changes; cancel it to stop."""
        async with Supervisor("hub-policies") as tasks:
            tasks.spawn(self._follow(), name="policy-changes")
            tasks.spawn(self._tick(), name="policy-refresh")
            while True:
                await self._stale.wait()
                self._stale.clear()
                try:
                    await self.refresh()
                except HubStateError as error:
                    _log.warning("cannot read access policies", error=str(error))
                    await self._clock.sleep(_RETRY_S)
                    self._stale.set()

    async def refresh(self) -> None:
        """Read every policy now.

        Raises:
            HubStateError: if the store does not answer; the last known policies hold.
        """
        found, unreadable = await read_policies(self._state)
        fresh = PolicySet(found)
        for key in (*unreadable, *fresh.broken):
            _log.warning("access policy cannot be read and is ignored", policy=key)
        self._set = fresh

    async def viewer(self, principal: Principal, now: datetime) -> Viewer:
        """What a principal may see now.

        Raises:
            Unavailable: if policies were never read.
        """
        if self._set is None:
            try:
                await self.refresh()
            except HubStateError as error:
                raise Unavailable("access policies cannot be read: the store is away") from error
        assert self._set is not None
        return self._set.viewer(principal, now)

    @property
    def count(self) -> int:
        """How many policies there are."""
        return len(self._set.programs) if self._set is not None else 0

    async def _follow(self) -> None:
        while True:
            try:
                async with self._state.subscribe(keys.POLICY_CHANGES) as messages:
                    self._stale.set()  # what changed while nobody listened
                    async for _ in messages:
                        self._stale.set()
                    return
            except HubStateError:
                await self._clock.sleep(_RETRY_S)

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(REFRESH_S)
            self._stale.set()
