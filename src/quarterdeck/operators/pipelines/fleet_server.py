"""One fleet server: its API, its rate limit, and the cached state of its pipelines."""

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
    """One server with the cached state of its pipelines and collectors."""

    def __init__(
        self, address: Address, api: FleetApi, view: View, *, limiter: Limiter, clock: Clock
    ) -> None:
        self.address = address
        self.api = api
        self.view = view
        self._limiter = limiter
        self._clock = clock
        self._has_revisions = True
        self._first_list: Sequence[Remote] | None = None
        self._look_turn = asyncio.Lock()
        self.agents = Agents(api, clock)
        """Its collectors, cached."""

    @property
    def name(self) -> str:
        """The name of its connection, as `status.connection` has it."""
        return self.address.name

    def record_write(self, remote: Remote) -> None:
        """Record the answer to a write."""
        self.view.record_write(remote, self._clock.monotonic())

    def record_removal(self, identity: str) -> None:
        """Record that a pipeline was deleted."""
        self.view.record_removal(identity, self._clock.monotonic())

    async def list_owned_by(self, uid: str) -> list[Remote]:
        """The pipelines that were written for an object, also before a restart of the operator.

        Until the first sweep, one listing of the server is shared by all callers. It is not
        recorded in the view, because the first sweep must report every pipeline as changed.
        """
        known = {remote.id: remote for remote in self.view.list_owned_by(uid)}
        if self.view.is_complete:
            self._first_list = None
            return list(known.values())
        async with self._look_turn:
            if self._first_list is None:
                self._first_list = await self.api.list()
        seen = {remote.id: remote for remote in self._first_list if remote.owner == uid}
        return list({**seen, **known}.values())

    async def sweep(self) -> frozenset[str]:
        """List the pipelines of the server; returns the ids of those that changed.

        A second call reads the revisions, only if something changed.
        """
        asked_at = self._clock.monotonic()
        changed = self.view.record_list(await self.api.list(), asked_at)
        if self._has_revisions and self.view.has_news:
            changed |= await self._read_revisions()
        return changed | await self._read_reports()

    async def read_revision(self, identity: str) -> None:
        """Read the revisions of a pipeline just written, if the server is idle.

        Under load this is left to the next sweep, which reads all revisions by one call.
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
        """Read the reports of collectors where the server has them; the next sweep retries."""
        try:
            return await self.agents.refresh()
        except (CallFailed, Paused):
            return frozenset()

    async def _read_revisions(self) -> frozenset[str]:
        """Read revisions, which only the status shows; a server without them is supported."""
        try:
            return self.view.record_revisions(await self.api.list_all_revisions())
        except CallFailed as error:
            self._has_revisions = error.code is not Code.UNIMPLEMENTED
        except Paused:
            pass
        return frozenset()
