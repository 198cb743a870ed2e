"""Keeps the policies in force up to date: reads them again after changes and periodically.

While the store does not answer, the policies that were read last apply; until they were read once,
viewers see nothing.
"""

import asyncio
from datetime import datetime

import msgspec

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
_MOST_VIEWERS = 4096
_log = get_logger("services.hub.policies")


class PolicyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long policies and decisions are cached, and how many apply to one user."""

    refresh_s: float = REFRESH_S
    """POLICY_CACHE_TTL: how long a change may go unnoticed if its message is lost."""
    viewer_s: float = 0.0
    """RBAC_CACHE_TTL: how long the policies of one user are cached; 0 disables the cache."""
    per_user: int | None = None
    """MAX_POLICIES_PER_USER: only the first ones in order of evaluation apply. Leaving out others
    can only hide more, because without a matching policy nothing may be seen."""


class Policies:
    """The policies in the store, and what they allow each viewer to see."""

    def __init__(
        self, state: StateStore, *, clock: Clock, limits: PolicyLimits | None = None
    ) -> None:
        self._state = state
        self._clock = clock
        self._limits = limits or PolicyLimits()
        self._viewers: dict[Principal, tuple[float, Viewer]] = {}
        self._set: PolicySet | None = None
        self._stale = asyncio.Event()
        self._begun = 0
        """How many reads have begun."""
        self._in_force = 0
        """The number of the read whose policies are in force."""

    async def run(self) -> None:
        """Read policies again after changes and periodically; cancel it to stop."""
        async with Supervisor("hub-policies") as tasks:
            tasks.spawn(self._follow(), name="policy-changes")
            tasks.spawn(self._tick(), name="policy-refresh")
            tasks.spawn(self._refresh_stale(), name="policy-reads")
            await tasks.wait_failed()

    async def refresh(self) -> None:
        """Read every policy now.

        The result is dropped if a read that began later was faster, because it may be older.

        Raises:
            HubStateError: if the store does not answer; the last known policies hold.
        """
        self._begun += 1
        number = self._begun
        found, unreadable = await read_policies(self._state)
        if number < self._in_force:
            return
        self._in_force = number
        fresh = PolicySet(found)
        for key in (*unreadable, *fresh.broken):
            _log.warning("access policy cannot be read and is ignored", policy=key)
        for key, problem in fresh.doubtful.items():
            _log.warning("a Deny policy is invalid and denies in doubt", policy=key, reason=problem)
        self._set = fresh
        self._viewers.clear()

    async def build_viewer(self, principal: Principal, now: datetime) -> Viewer:
        """What a principal may see now.

        Raises:
            Unavailable: if policies were never read.
        """
        if self._set is None:
            try:
                await self.refresh()
            except HubStateError as error:
                raise Unavailable(
                    "access policies cannot be read: the store does not answer"
                ) from error
        assert self._set is not None
        limits, at = self._limits, self._clock.monotonic()
        known = self._viewers.get(principal)
        if known is not None and known[0] > at:
            return known[1]
        viewer = self._set.build_viewer(principal, now, limit=limits.per_user)
        if limits.viewer_s > 0:
            if len(self._viewers) >= _MOST_VIEWERS:
                self._viewers.clear()
            self._viewers[principal] = (at + limits.viewer_s, viewer)
        return viewer

    @property
    def count(self) -> int:
        """How many policies there are."""
        return len(self._set.programs) if self._set is not None else 0

    async def _refresh_stale(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                await self.refresh()
            except HubStateError as error:
                _log.warning("cannot read access policies", error=str(error))
                await self._clock.sleep(_RETRY_S)
                self._stale.set()

    async def _follow(self) -> None:
        is_lost = False
        while True:
            try:
                async with self._state.subscribe(keys.POLICY_CHANGES) as messages:
                    is_lost = False
                    self._stale.set()  # changes may have been missed
                    async for _ in messages:
                        self._stale.set()
                    return
            except HubStateError as error:
                if not is_lost:  # once an outage: requests say the same in their answers
                    _log.warning("cannot follow changes of access policies", error=str(error))
                is_lost = True
                await self._clock.sleep(_RETRY_S)

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(self._limits.refresh_s)
            self._stale.set()
