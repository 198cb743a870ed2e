"""One fleet server as the operator uses it: its API, its limits and what is known of it."""

import asyncio
from collections.abc import Sequence

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.pipelines.address import Address
from quarterdeck.operators.pipelines.agents import Agents
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.ports import CallFailed, FleetApi, Paused, Remote
from quarterdeck.operators.pipelines.view import View
from quarterdeck.telemetry.fleet.codes import Code


class Fleet:
    """One server, and what is known of it."""

    def __init__(
        self, address: Address, api: FleetApi, view: View, *, limiter: Limiter, clock: Clock
    ) -> None:
        self.address = address
        self.api = api
        self.view = view
        self._limiter = limiter
        self._clock = clock
        self._has_revisions = True
        self._first_look: Sequence[Remote] | None = None
        self._look_turn = asyncio.Lock()
        self.agents = Agents(api, clock)
        """What is known of its collectors."""

    @property
    def name(self) -> str:
        """What a status calls it."""
        return self.address.name

    def record_write(self, remote: Remote) -> None:
        """Remember what the server answered to a write."""
        self.view.record_write(remote, self._clock.monotonic())

    def record_removal(self, identity: str) -> None:
        """Remember that a pipeline is gone."""
        self.view.record_removal(identity, self._clock.monotonic())

    async def owned_by(self, uid: str) -> list[Remote]:
        """The pipelines that were written for an object, also by a process before this one.

        Until the first sweep the server is read once for all who ask; the view stays as it is, or
        the sweep would not tell whom it concerns.
        """
        known = {remote.id: remote for remote in self.view.owned_by(uid)}
        if self.view.is_complete:
            self._first_look = None
            return list(known.values())
        async with self._look_turn:
            if self._first_look is None:
                self._first_look = await self.api.list()
        seen = {remote.id: remote for remote in self._first_look if remote.owner == uid}
        return list({**seen, **known}.values())

    async def sweep(self) -> frozenset[str]:
        """Read the whole server by one call; returns the ids that are not as they were.

        A second one tells their revisions, if something changed at all.
        """
        asked_at = self._clock.monotonic()
        changed = self.view.record_list(await self.api.list(), asked_at)
        if self._has_revisions and self.view.has_news:
            changed |= await self._read_revisions()
        return changed | await self._read_reports()

    async def read_revision(self, identity: str) -> None:
        """Read the revision of a pipeline just written, if the server is idle.

        Under load the next sweep tells all revisions by one call.
        """
        if not self._has_revisions or not self._limiter.is_idle:
            return
        try:
            self.view.record_history(identity, await self.api.list_revisions(identity))
        except CallFailed as error:
            self._has_revisions = error.code is not Code.UNIMPLEMENTED
        except Paused:
            pass

    async def _read_reports(self) -> frozenset[str]:
        """Read what collectors report, on a server that tells; what cannot be read can wait."""
        try:
            return await self.agents.refresh()
        except (CallFailed, Paused):
            return frozenset()

    async def _read_revisions(self) -> frozenset[str]:
        """Read revisions, which only the status shows; a server without them is supported."""
        try:
            return self.view.record_revisions(await self.api.revisions())
        except CallFailed as error:
            self._has_revisions = error.code is not Code.UNIMPLEMENTED
        except Paused:
            pass
        return frozenset()
